/**
 * The API key, asked for once. It lives as long as the tab (sessionStorage), unless the person says that this device
 * is theirs (localStorage); where the browser keeps nothing for pages, as long as the page. It travels only in the header X-API-Key.
 */

const NAME = "odradek.key";

let held = null;

export function storedKey() {
  return held ?? stored(() => sessionStorage.getItem(NAME)) ?? stored(() => localStorage.getItem(NAME));
}

export function keepKey(key, { onThisDevice }) {
  forgetKey();
  const kept = stored(() => {
    (onThisDevice ? localStorage : sessionStorage).setItem(NAME, key);
    return true;
  });
  if (!kept) held = key;
}

export function forgetKey() {
  held = null;
  stored(() => sessionStorage.removeItem(NAME));
  stored(() => localStorage.removeItem(NAME));
}

/** What `use` of a storage gives; null where the browser has none for this page: even naming it throws there. */
function stored(use) {
  try {
    return use();
  } catch {
    return null;
  }
}
