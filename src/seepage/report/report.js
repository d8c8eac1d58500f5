"use strict";
// Draws the figures, and draws them anew when the colours change or the page goes to paper.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paper = matchMedia("print");
  const PAPER_WIDTH = 660; // A4 less its margins, in CSS pixels
  const NARROW = 640;

  const draw = (printing) => {
    for (const place of document.querySelectorAll(".plot")) {
      const dresses = JSON.parse(document.getElementById(place.id + "-data").textContent);
      const figure = dark.matches && !printing ? dresses.dark : dresses.light;
      const { layout } = figure;
      if (printing) layout.width = PAPER_WIDTH;
      else if (innerWidth < NARROW && layout.meta?.short) layout.yaxis.ticktext = layout.meta.short;
      Plotly.react(place, figure.data, layout, { displayModeBar: false, responsive: true });
    }
  };

  if (typeof Plotly === "undefined") return;
  draw(paper.matches);
  dark.addEventListener("change", () => draw(paper.matches));
  paper.addEventListener("change", () => draw(paper.matches));
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => draw(false));
})();
