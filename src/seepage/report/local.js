"use strict";
// Keeps what is shown of runs and captures fresh: the list, one run, or one capture.
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
    if (bar) bar.max = run.tasks ?? bar.max;
    if (bar) bar.value = run.finished ? bar.max : run.done;
  }
}

// Parts that are marked as live are taken anew from the page itself. Who reads keeps the place and the focus.
async function renew() {
  const answer = await fetch(location.pathname);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const place of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(place.id);
    if (!fresh || fresh.innerHTML === place.innerHTML) continue;
    const held = [...place.querySelectorAll("a, [tabindex]")].indexOf(document.activeElement);
    const seen = [...place.querySelectorAll(".scroll")].map((each) => [each.scrollLeft, each.scrollTop]);
    place.replaceChildren(...fresh.childNodes);
    place.querySelectorAll(".scroll").forEach((each, at) => each.scrollTo(...(seen[at] ?? [0, 0])));
    if (held >= 0) [...place.querySelectorAll("a, [tabindex]")][held]?.focus({ preventScroll: true });
  }
}

if (document.querySelector("[data-run]") || document.getElementById("runs")) setInterval(refresh, 2000);
if (document.querySelector("[data-live]")) setInterval(renew, 2000);
