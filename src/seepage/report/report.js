"use strict";
// Draws the figures, and draws them anew when the colours change or the page goes to paper.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paper = matchMedia("print");
  const PAPER_WIDTH = 660; // A4 less its margins, in CSS pixels

  const draw = (printing) => {
    for (const place of document.querySelectorAll(".plot")) {
      const dresses = JSON.parse(document.getElementById(place.id + "-data").textContent);
      const figure = dark.matches && !printing ? dresses.dark : dresses.light;
      if (printing) figure.layout.width = PAPER_WIDTH;
      Plotly.react(place, figure.data, figure.layout, { displayModeBar: false, responsive: true });
    }
  };

  if (typeof Plotly === "undefined") return;
  draw(paper.matches);
  dark.addEventListener("change", () => draw(paper.matches));
  paper.addEventListener("change", () => draw(paper.matches));
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => draw(false));
})();
