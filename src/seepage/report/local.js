// Keeps the list of runs fresh while one is going on.
"use strict";
async function refresh() {
  const answer = await fetch("/runs.json");
  if (!answer.ok) return;
  for (const run of await answer.json()) {
    const row = document.getElementById("run-" + run.name);
    if (!row) { location.reload(); return; }
    const state = run.finished ? "finished" : run.tasks ? `${run.done} of ${run.tasks} trainings` : "not finished";
    row.querySelector(".state").textContent = state;
    row.querySelector(".cells").textContent = run.cells;
    const bar = row.querySelector("progress");
    if (bar) bar.value = run.finished ? bar.max : run.done;
    if (run.report && !row.querySelector("a")) location.reload();
  }
}
setInterval(refresh, 2000);
