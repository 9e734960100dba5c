/* Before the first paint: the theme a person chose, else the system's. A classic script, so that nothing flashes. */
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try {
      return localStorage.getItem("odradek.theme");
    } catch {
      return null;
    }
  };
  const apply = () => {
    document.documentElement.dataset.theme = chosen() ?? (dark.matches ? "dark" : "light");
  };
  dark.addEventListener("change", apply);
  addEventListener("odradek:theme", apply);
  apply();
})();
