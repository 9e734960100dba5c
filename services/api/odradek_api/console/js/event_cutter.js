/** Cuts the text of Server-Sent Events into events {name, data}; `feed(text)` gives those that are whole. Pure. */
export class EventCutter {
  #rest = "";

  feed(text) {
    const all = this.#rest + text;
    // A line may end in \r\n, and the piece between the two.
    const half = all.endsWith("\r") ? 1 : 0;
    const blocks = all.slice(0, all.length - half).replace(/\r\n?/g, "\n").split("\n\n");
    this.#rest = blocks.pop() + all.slice(all.length - half);
    return blocks.map(eventOf).filter((each) => each !== null);
  }
}

function eventOf(block) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length === 0 ? null : { name, data: data.join("\n") };
}
