"use strict";
// Keeps what is shown of runs fresh: the list, or one run.
async function refresh() {
  const answer = await fetch("/runs.json");
  if (!answer.ok) return;
  const runs = new Map((await answer.json()).map((run) => [run.name, run]));
  const shown = [...document.querySelectorAll("[data-run]")];
  if (document.getElementById("runs") && shown.length !== runs.size) return location.reload();
  for (const place of shown) {
    const run = runs.get(place.dataset.run);
    const state = place.querySelector(".state");
    if (!run || !state) continue;
    if (run.report && !place.querySelector("a.report")) return location.reload();
    state.textContent = run.progress;
    place.querySelector(".cells").textContent = run.cells;
    const bar = place.querySelector("progress");
    if (bar) bar.value = run.finished ? bar.max : run.done;
  }
}
setInterval(refresh, 2000);
