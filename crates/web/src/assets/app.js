// One document a second, drawn with text nodes alone: no name becomes markup.
"use strict";
const $ = (id) => document.getElementById(id);
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  for (const child of children) node.append(child);
  return node;
};
const length = (ms) => {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${String(Math.floor(s / 60) % 60).padStart(2, "0")}`;
  return `${Math.floor(s / 86400)} d`;
};
const gib = (mib) => (mib / 1024).toFixed(mib >= 102400 ? 0 : 1);
// Of a small program the GiB are none.
const memory = (mib) => (mib < 1024 ? `${mib.toFixed(0)} MiB` : `${gib(mib)} GiB`);
let shown = "", rank = 0, timer = 0, drawn = "", reportAt = 0;

const problem = (text) => { $("problem").hidden = !text; $("problem").textContent = text || ""; };
const chosen = () => { try { return decodeURIComponent(location.hash.slice(1)); } catch (error) { return ""; } };
// Keys of runs and jobs have no slash.
const CLUSTERS = "/clusters", ALL = "/all";

function row(r, now) {
  const name = make("a", { href: `#${encodeURIComponent(r.key)}` }, r.run ? r.name : `(${r.name})`);
  const cell = (text, kind = "") => make("td", kind ? { class: kind } : {}, text);
  return make("tr", {},
    make("td", { class: "name" }, name), cell(r.job === null ? "–" : String(r.job), "less"), cell(r.cluster, "less"),
    cell(r.state, `state ${r.state.replace(" ", "-")}`), cell(r.since === null ? "–" : length(now - r.since)),
    r.step === null ? cell("–", "less") : cell(`step ${r.step}`), cell(r.note, "note"));
}

function list(d) {
  // Where nothing lives, what has ended is all there is to see.
  const all = $("all").checked || !d.rows.some((r) => r.live), rows = d.rows.filter((r) => all || r.live);
  if (rows.length === 0) return [make("p", { class: "quiet" }, "No runs yet; yard run FILE starts one.")];
  const head = make("tr", {}, ...["Run", "Job", "Cluster", "State", "Since", "Progress", "Why"].map((t, i) =>
    make("th", i === 1 || i === 2 ? { class: "less" } : {}, t)));
  return [make("div", { class: "scroll" }, make("table", { class: "blocks" }, make("thead", {}, head), make("tbody", {}, ...rows.map((r) => row(r, d.now)))))];
}

function bars(values, full) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 120 20"); svg.setAttribute("preserveAspectRatio", "none"); svg.setAttribute("class", "bars");
  const points = values.map((v, i) => `${(120 - values.length + i).toFixed(0)},${(20 - 20 * Math.min(1, v / full)).toFixed(1)}`);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  line.setAttribute("points", points.join(" ")); svg.append(line);
  return svg;
}

function card(m, now, printed, running) {
  const v = m.values, facts = [];
  if (m.what.startsWith("gpu")) {
    facts.push(v.sm === undefined ? "lost" : `${v.sm.toFixed(0)} %`);
    if (v.fb !== undefined) facts.push(`${gib(v.fb)} of ${gib(v.fb_total || v.fb)} GiB`);
    if (v.gtemp !== undefined) facts.push(`${v.gtemp.toFixed(0)} °C`);
    if (v.pwr !== undefined) facts.push(`${v.pwr.toFixed(0)} W`);
  } else {
    if (v.cpu !== undefined) facts.push(`${v.cpu.toFixed(1)} CPUs`);
    if (v.memory_mib !== undefined) facts.push(v.memory_total_mib ? `${gib(v.memory_mib)} of ${gib(v.memory_total_mib)} GiB` : memory(v.memory_mib));
    if (v.disk_free_mib !== undefined) facts.push(`${gib(v.disk_free_mib)} GiB of disk free`);
  }
  const full = m.what.startsWith("gpu") ? 100 : Math.max(1, ...m.busy);
  const own = m.what.startsWith("rank") ? Number(m.what.slice(5)) : null;
  const quiet = running && own !== null && printed.has(own) && now - printed.get(own) > 60000 ? ` · quiet for ${length(now - printed.get(own))}` : "";
  return make("div", { class: "card" }, make("b", {}, m.what === "node" ? m.node : `${m.what} · ${m.node}`), make("span", {}, facts.join(" · ") + quiet), bars(m.busy, full));
}

function one(d) {
  const r = d.row, printed = new Map(d.printed), parts = [];
  parts.push(make("h1", {}, r.name), make("p", { class: "sub" }, make("span", { class: `state ${r.state.replace(" ", "-")}` }, r.state),
    ` · ${r.cluster}${r.job === null ? "" : ` · job ${r.job}`}${d.since ? ` · ${d.since}` : ""}${d.starts > 1 ? ` · start ${d.starts}` : ""}`));
  if (r.note) parts.push(make("p", { class: "why" }, r.note));
  for (const [name, address] of Object.entries(d.services)) parts.push(make("p", { class: "why" }, `${name}: ${address}`));
  if (d.folder !== null) {
    const ranks = [...new Set([...printed.keys(), rank])].sort((a, b) => a - b);
    const select = make("select", { id: "rank", "aria-label": "rank" }, ...ranks.map((n) => {
      const option = make("option", { value: n }, `rank ${n}`);
      if (n === rank) option.setAttribute("selected", "");
      return option;
    }));
    select.addEventListener("change", () => { rank = Number(select.value); look(); });
    const log = make("pre", { id: "log", tabindex: "0" }, d.lines.length ? d.lines.join("\n") : "nothing printed yet");
    parts.push(make("h2", {}, "Log ", select), log);
  }
  const of = (kind) => d.measured.filter((m) => m.what.startsWith(kind));
  for (const [kind, title] of [["node", "Nodes"], ["gpu", "GPUs"], ["rank", "Ranks"]]) {
    const own = of(kind);
    if (kind === "rank") own.sort((a, b) => Number(a.what.slice(5)) - Number(b.what.slice(5)));
    if (own.length) parts.push(make("h2", {}, title), make("div", { class: "cards" }, ...own.map((m) => card(m, d.now, printed, d.running))));
  }
  return parts;
}

function draw(parts, frame) {
  const main = $("main"), log = $("log");
  const atEnd = !log || log.scrollHeight - log.scrollTop - log.clientHeight < 30, top = log ? log.scrollTop : 0;
  const live = main.querySelector(".live") || make("div", { class: "live" });
  if (document.activeElement && document.activeElement.id === "rank") return;
  live.replaceChildren(...parts);
  if (!live.parentNode) main.replaceChildren(live);
  const old = main.querySelector("iframe");
  if (!frame && old) { old.previousSibling.remove(); old.remove(); }
  if (frame && (!old || Date.now() - reportAt > 15000)) {
    reportAt = Date.now();
    const next = make("iframe", { src: frame, title: "plots of this run", sandbox: "allow-same-origin" });
    next.addEventListener("load", () => { next.style.height = `${next.contentDocument.documentElement.scrollHeight + 20}px`; });
    if (old) old.replaceWith(next); else main.append(make("h2", {}, "Plots"), next);
  }
  const now = $("log");
  if (now) now.scrollTop = atEnd ? now.scrollHeight : top;
}

async function look() {
  clearTimeout(timer);
  const place = chosen(), key = place === ALL ? "" : place;
  $("all").checked = place === ALL;
  if (key !== shown) { shown = key; rank = 0; drawn = ""; reportAt = 0; $("main").replaceChildren(make("p", { class: "quiet" }, "loading…")); document.title = key === CLUSTERS ? "clusters · yard" : key ? `${key} · yard` : "yard"; }
  for (const link of document.querySelectorAll("nav a")) link.classList.toggle("here", link.getAttribute("href") === `#${key}`);
  document.querySelector("header label").hidden = key !== "";
  try {
    const answer = await fetch(key === CLUSTERS ? "/api/clusters" : key ? `/api/run/${encodeURIComponent(key)}?rank=${rank}` : "/api/runs");
    if (place !== chosen()) return;
    if (answer.status === 404) { problem(""); draw([make("p", { class: "quiet" }, `${key} is not listed: it was removed, or its job is forgotten.`)], null); }
    else if (!answer.ok) problem(`yard serve answers ${answer.status}; open the address that it printed`);
    else {
      const d = await answer.json();
      problem((d.problems || []).join(" · "));
      if (!key) {
        const count = (word) => d.rows.filter((r) => r.state === word).length;
        $("counts").textContent = ["running", "waiting", "resuming"].filter(count).map((word) => `${count(word)} ${word}`).join(" · ");
      }
      if (key === CLUSTERS) draw(clusters(d), null);
      else draw(key ? one(d) : list(d), key && d.row.run && d.starts > 0 ? `/report/${encodeURIComponent(key)}` : null);
    }
  } catch (error) { problem("yard serve does not answer"); }
  timer = setTimeout(look, document.hidden ? 5000 : 1000);
}
// In the address, so that a link or a second look shows the same.
$("all").addEventListener("change", () => { location.hash = $("all").checked ? ALL : ""; });
addEventListener("hashchange", look);
document.addEventListener("visibilitychange", look);
look();
