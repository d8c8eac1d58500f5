"use strict";
// Draws the figures, and draws them anew when the colours change or the page goes to paper.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paper = matchMedia("print");
  const PAPER_WIDTH = 660; // A4 less its margins, in CSS pixels
  const PAPER_HEIGHT = 790; // and less a heading and a caption
  const CLOSEST = 13; // pixels between two names of an axis that can still be read
  const NARROW = 640;
  const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

  // What all figures share: fonts, room, and no controls that a reader does not need.
  const axis = (own) => ({
    gridcolor: "var(--grid)", linecolor: "var(--grid)", zeroline: false, showgrid: false, automargin: true,
    fixedrange: true, tickfont: { color: "var(--ink)" }, ...own,
    title: { font: { color: "var(--muted)", size: 13 }, standoff: 12, ...own.title },
  });
  const dress = (layout, height) => ({
    ...layout, height, autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: FONT, size: 13, color: "var(--ink)" }, margin: { l: 8, r: 16, t: 12, b: 48 },
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", traceorder: "normal", ...layout.legend },
    hoverlabel: { bgcolor: "var(--surface)", bordercolor: "var(--muted)", font: { color: "var(--ink)" } },
    xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis),
  });

  // A colour is named by its variable in report.css; paper is always light.
  const coloured = (value, style, key) => {
    if (Array.isArray(value)) return value.map((each) => coloured(each, style, key));
    if (value && typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, coloured(each, style, name)]));
    const named = typeof value === "string" && /color$/.test(key) && /^var\((--[a-z0-9-]+)\)$/.exec(value);
    return named ? style.getPropertyValue(named[1]).trim() : value;
  };

  const draw = (printing) => {
    const style = getComputedStyle(document.querySelector(printing ? ".paper" : ":root"));
    for (const place of document.querySelectorAll(".plot")) {
      const { data, layout } = JSON.parse(document.getElementById(place.id + "-data").textContent);
      if (!printing && innerWidth < NARROW && layout.meta?.short) layout.yaxis.ticktext = layout.meta.short;
      const names = layout.yaxis.ticktext?.length || 1;
      const tall = Number.parseFloat(place.dataset.height); // a figure that is cut by the end of a page is no use
      place.style.height = `${printing && names * CLOSEST < PAPER_HEIGHT ? Math.min(tall, PAPER_HEIGHT) : tall}px`;
      const dressed = dress(layout, Number.parseFloat(place.style.height));
      if (printing) dressed.width = PAPER_WIDTH;
      const options = { displayModeBar: false, responsive: true };
      Plotly.react(place, coloured(data, style), coloured(dressed, style), options);
    }
  };

  draw(paper.matches);
  dark.addEventListener("change", () => draw(paper.matches));
  paper.addEventListener("change", () => draw(paper.matches));
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => draw(false));
})();
