// The colour theme: as the system says, or as chosen here before. Runs before the page is drawn.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("stillwatt.theme");
  } catch {
    // Storage may be switched off; then the choice lasts until the page is closed.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
