// The clusters' nodes and queues; the tools are those of app.js.
"use strict";
const moment = (ms, now) => {
  const at = new Date(ms), today = new Date(now), clock = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return at.toDateString() === today.toDateString() ? clock : `${at.toLocaleDateString([], { month: "short", day: "numeric" })} ${clock}`;
};

// How much of something is held, as a number and a line.
function used([held, all], unit, each = 1) {
  if (all === 0) return make("td", { class: "less quiet" }, "–");
  const of = (n) => each === 1 ? String(n) : (n / each).toFixed(n / each < 10 ? 1 : 0);
  const line = make("progress", { max: all, value: held, "aria-hidden": "true" });
  // The heads of the columns are not shown on a phone.
  return make("td", { class: "used" }, line, ` ${of(held)} of ${of(all)}`, make("span", { class: "narrow" }, ` ${unit}`));
}

function nodes(c) {
  const head = make("tr", {}, ...["Node", "State", "CPUs", "GPUs", "Memory (GiB)", "Jobs"].map((t) => make("th", t.startsWith("Memory") ? { class: "less" } : {}, t)));
  const rows = c.nodes.map((n) => {
    const memory = used(n.memory, "GiB", 1024);
    memory.classList.add("less");
    const jobs = n.jobs.join(", ") + (n.more_jobs ? ` and ${n.more_jobs} more` : "");
    const bad = /down|drain|fail|unk|not_resp|\*/.test(n.state), gpus = used(n.gpus, "GPUs");
    if (n.gpu_types.length) gpus.append(` ${n.gpu_types.join(", ")}`);
    return make("tr", {}, make("td", { class: "name" }, n.name), make("td", { class: `state ${bad ? "failed" : n.state === "idle" ? "" : "running"}` }, n.state),
      used(n.cpus, "CPUs"), gpus, memory, make("td", { class: "note" }, ...(n.jobs.length ? [make("span", { class: "narrow" }, n.jobs.length > 1 ? "jobs " : "job ")] : []), [jobs, n.reason].filter(Boolean).join(" · ")));
  });
  const table = make("div", { class: "scroll" }, make("table", { class: "blocks" }, make("thead", {}, head), make("tbody", {}, ...rows)));
  return c.node_count > c.nodes.length ? [table, make("p", { class: "quiet" }, `the first ${c.nodes.length} of ${c.node_count} nodes`)] : [table];
}

function queue(c, now) {
  if (c.queue.length === 0) return [make("p", { class: "quiet" }, "No jobs.")];
  const head = make("tr", {}, ...["Job", "User", "State", "Has or needs", "When", "Where or why"].map((t) => make("th", t === "User" ? { class: "less" } : {}, t)));
  const rows = c.queue.map((j) => {
    const name = j.key ? make("a", { href: `#${encodeURIComponent(j.key)}` }, j.name || j.label) : j.name;
    const needs = [j.gpus ? `${j.gpus} GPU${j.gpus > 1 ? "s" : ""}` : "", `${j.cpus} CPU${j.cpus === 1 ? "" : "s"}`, j.nodes > 1 ? `${j.nodes} nodes` : ""].filter(Boolean).join(", ");
    const far = j.at === null ? "" : j.at > now ? `in ${length(j.at - now)}` : "any moment";
    const when = j.at === null ? j.runs ? "no limit" : "–" : j.runs ? `ends by ${moment(j.at, now)}` : `starts ${j.at > now ? `about ${moment(j.at, now)}, ` : ""}${far}`;
    return make("tr", {}, make("td", { class: "name" }, `${j.label} `, name), make("td", { class: "less" }, j.user),
      make("td", { class: `state ${j.runs ? "running" : "waiting"}` }, j.runs ? "running" : "waiting"),
      make("td", {}, needs), make("td", {}, when), make("td", { class: "note" }, j.note));
  });
  const table = make("div", { class: "scroll" }, make("table", { class: "blocks" }, make("thead", {}, head), make("tbody", {}, ...rows)));
  const all = c.waiting + c.running;
  return all > c.queue.length ? [table, make("p", { class: "quiet" }, `the first ${c.queue.length} of ${all} jobs`)] : [table];
}

function clusters(d) {
  const parts = [];
  for (const c of d.clusters) {
    const sum = [c.states.map(([word, count]) => `${count} ${word}`).join(", "), `${c.cpus[0]} of ${c.cpus[1]} CPUs used`];
    if (c.gpus[1]) sum.push(`${c.gpus[0]} of ${c.gpus[1]} GPUs used`);
    sum.push(`${c.running} running, ${c.waiting} waiting`);
    parts.push(make("h1", {}, c.name));
    if (c.problem !== null) parts.push(make("p", { class: "why" }, c.at === null ? c.problem : `${c.problem}; what follows is ${length(d.now - c.at)} old`));
    if (c.at === null) { if (c.problem === null) parts.push(make("p", { class: "quiet" }, "loading…")); continue; }
    parts.push(make("p", { class: "sub" }, sum.join(" · ")), make("h2", {}, "Nodes"), ...nodes(c), make("h2", {}, "Queue"), ...queue(c, d.now));
  }
  return parts;
}
