"use strict";
// The address stores what one looks at. The model answers in this page; `fp9 explore` answers questions about units.
const DEFAULTS = { x: "0.3", rounding: "own", overflow: "saturate", random: "32768", format: "hif8",
  show: "e4m3,e5m2,hif8", a: "448 1 0.5 0.0078125", b: "1 1 1 1", format_a: "e4m3", format_b: "e4m3", c: "0",
  engine: "hopper", block: "nvfp4", rule: "", tensor: "own", seed: "1", numbers: "", unit: "fma_fp32_ocp", set: "" };
const NUMBER = ["x", "rounding", "overflow", "random"];
const SUM = ["a", "b", "format_a", "format_b", "c", "engine"];
const UNIT = ["unit", "set"];
const COLOURS = ["#0969da", "#bf3989", "#1a7f37", "#bc4c00", "#8250df", "#57606a"];
const at = (id) => document.getElementById(id);
const state = { ...DEFAULTS };
const latest = { sheet: 0, area: 0 };
let model, formats = [], curves = [];

function element(name, attributes = {}, ...children) {
  const svg = ["svg", "line", "circle", "text", "polyline", "rect", "title"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const key of Object.keys(DEFAULTS)) state[key] = given.get(key) ?? DEFAULTS[key];
}

function keep() {
  const changed = Object.entries(state).filter(([key, value]) => value !== DEFAULTS[key]);
  history.replaceState(null, "", changed.length ? "#" + new URLSearchParams(changed) : location.pathname);
}

async function ask(what, keys) {
  const turn = ++latest[what];
  const answer = await fetch(`api/${what}?` + new URLSearchParams(keys.map((key) => [key, state[key]])));
  const found = await answer.json();
  if (turn !== latest[what]) return null;  // an older question: its answer comes too late
  at("problem-" + what).textContent = answer.ok ? "" : found.error;
  return answer.ok ? found : null;
}

function computed(what, choice = state) {
  try {
    at("problem-" + what).textContent = "";
    return model[what](choice);
  } catch (error) {
    at("problem-" + what).textContent = error.message;
    return null;
  }
}

function rows(body, made) {
  at(body).replaceChildren(...made);
  sortAgain(at(body).closest("table"));
}

// --- a number -----------------------------------------------------------------------------------------------------

function showNumber() {
  at("random-box").hidden = state.rounding !== "sr";
  const found = computed("number");
  if (!found) return;
  formats = found.formats;
  if (found.float64) {
    const magnitude = Math.log2(Math.abs(found.float64));
    at("drag-at").textContent = magnitude.toFixed(2);
    if (document.activeElement !== at("drag")) at("drag").value = magnitude;
  }
  rows("codes", formats.map(row));
  showDecision();
  showPrecision(found.float64);
}

function row(cast) {
  const cells = ["0x" + cast.code, bitsShown(cast.fields), cast.value, percent(cast.relative),
    roundingShown(cast.rounding), cast.flags.join(" ")];
  const choose = element("button", { type: "button", onclick: () => { set("format", cast.name); } }, cast.name);
  return element("tr", { "aria-current": cast.name === state.format, "data-format": cast.name },
    element("td", {}, choose), ...cells.map((c, i) => element("td", i === 2 || i === 3 ? { class: "n" } : {}, c)));
}

function percent(error) {
  if (!error) return error === null ? "" : "0";
  return (Math.abs(error) < 1e-5 ? (100 * error).toExponential(1) : (100 * error).toPrecision(3)) + " %";
}

// Drawings have a unit a pixel, so that their text is as large as the page's.
const width = (id) => Math.min(1100, Math.max(320, at(id).clientWidth));

function roundingShown(name) {
  const words = model.tables.roundings[name]?.words;
  return words ? element("abbr", { title: words }, name) : name;
}

function showDecision() {
  const cast = formats.find((f) => f.name === state.format) || formats[0];
  const found = cast.decision;
  if (!found) return at("decision").replaceChildren(`${cast.name}: no rounding, the code is ${cast.value}.`);
  const wide = width("decision"), x = (place) => 50 + (wide - 100) * place;
  const parts = [element("line", { x1: x(0), x2: x(1), y1: 50, y2: 50, class: "axis", "stroke-width": 3 })];
  for (const [place, name, up] of [[0, found.below, false], [1, found.above, true]]) {
    const won = found.up === up;
    parts.push(element("circle", { cx: x(place), cy: 50, r: won ? 9 : 5, class: won ? "mark" : "", fill: "currentColor" }),
      element("text", { x: x(place), y: 80, "text-anchor": "middle", "font-weight": won ? "bold" : "normal" }, name));
  }
  if (found.threshold !== null) {
    parts.push(element("line", { x1: x(found.threshold), x2: x(found.threshold), y1: 30, y2: 70, class: "axis",
      "stroke-width": 2, "stroke-dasharray": "4 3" }),
      element("text", { x: x(found.threshold), y: 95, "text-anchor": "middle" }, "up from here"));
  }
  parts.push(element("circle", { cx: x(found.place), cy: 50, r: 5, fill: "var(--lost)" }),
    element("text", { x: x(found.place), y: 22, "text-anchor": "middle" }, "the number"));
  const said = found.up === null ? `beyond the largest number: ${cast.value} by the overflow policy`
    : `${(100 * found.place).toFixed(2)} % of the way from ${found.below} to ${found.above} (magnitudes), ` +
      `${cast.rounding} (${model.tables.roundings[cast.rounding]?.words}) goes ${found.place === 0 && !found.up ? "nowhere: it is exact" : found.up ? "up" : "down"}`;
  at("decision").replaceChildren(element("p", {}, `${cast.name}: ${said}.`),
    element("svg", { viewBox: `0 0 ${wide} 105`, role: "img", "aria-label": said }, ...parts));
}

function step(up) {
  const cast = formats.find((f) => f.name === state.format);
  if (!cast || !cast.decision) return;
  const negative = state.x.trim().startsWith("-");
  const { below, above, place } = cast.decision;
  const grows = up !== negative;
  let next = grows ? above : below;
  if (!grows && place === 0) next = String(2 * Number(below) - Number(above));
  set("x", (negative && !next.startsWith("-") ? "-" : "") + next.replace("--", ""));
}

// --- precision ------------------------------------------------------------------------------------------------------

function showPrecision(number) {
  const shown = state.show.split(",").filter(Boolean);
  const chosen = curves.filter((c) => shown.includes(c.name));
  if (!chosen.length) return at("precision").replaceChildren("Choose a format.");
  const exponents = chosen.flatMap((c) => c.points.map((p) => p[0]));
  const [low, high] = [Math.min(...exponents), Math.max(...exponents) + 1];
  const most = Math.max(...chosen.flatMap((c) => c.points.map((p) => p[1])));
  const wide = width("precision"), right = wide - 20, column = 130, columns = Math.floor((wide - 20) / column);
  const x = (e) => 50 + (right - 50) * (e - low) / (high - low), y = (bits) => 250 - 220 * bits / most;
  const parts = [];
  for (let bits = 0; bits <= most; bits += most > 12 ? 4 : 1)
    parts.push(element("line", { x1: 50, x2: right, y1: y(bits), y2: y(bits), class: "axis" }),
      element("text", { x: 42, y: y(bits) + 4, "text-anchor": "end" }, String(bits)));
  const every = Math.ceil((high - low) / ((right - 50) / 60));
  for (let e = low; e <= high; e += every)
    parts.push(element("text", { x: x(e), y: 270, "text-anchor": "middle" }, `2^${e}`));
  chosen.forEach((curve, i) => {
    const points = curve.points.flatMap(([e, bits]) => [`${x(e)},${y(bits)}`, `${x(e + 1)},${y(bits)}`]);
    const dash = i < COLOURS.length ? "" : "6 3";
    parts.push(element("polyline", { points: points.join(" "), fill: "none", stroke: COLOURS[i % COLOURS.length],
      "stroke-width": 2.5, "stroke-dasharray": dash }, element("title", {}, curve.name)));
    parts.push(element("rect", { x: 20 + column * (i % columns), y: 284 + 20 * Math.floor(i / columns), width: 12, height: 12,
      fill: COLOURS[i % COLOURS.length] }), element("text", { x: 38 + column * (i % columns), y: 295 + 20 * Math.floor(i / columns) },
      curve.name));
  });
  if (number) {
    const place = x(Math.log2(Math.abs(number)));
    if (place >= 50 && place <= right)
      parts.push(element("line", { x1: place, x2: place, y1: 20, y2: 250, stroke: "var(--lost)" }));
  }
  const said = "Bits of significand by magnitude: " + chosen.map((c) =>
    `${c.name} up to ${Math.max(...c.points.map((p) => p[1]))}`).join(", ");
  const height = 305 + 20 * Math.floor((chosen.length - 1) / columns);
  at("precision").replaceChildren(element("p", { class: "hint" }, "Bits of significand; the red line is the number above."),
    element("svg", { viewBox: `0 0 ${wide} ${height}`, role: "img", "aria-label": said }, ...parts));
}

// --- a sum ------------------------------------------------------------------------------------------------------------

function showSum() {
  const found = computed("sum");
  if (!found) return;
  at("total").textContent = `${found.engine} gives ${found.result} (${found.output}); exactly it is ${found.exact}.`;
  at("steps").replaceChildren(...found.steps.map(stepShown));
  rows("engines", found.engines.map((other) => element("tr",
    { "aria-current": other.engine === found.engine, "data-engine": other.engine },
    element("td", {}, element("button", { type: "button", onclick: () => set("engine", other.engine) }, other.engine)),
    element("td", {}, other.output), element("td", { class: "n" }, other.result),
    element("td", { class: "n" }, percent(other.error)))));
}

function stepShown(taken, i) {
  const window = taken.top === null ? "" : `, window from 2^${taken.top} down to 2^${taken.last}`;
  const rows = taken.terms.map((term, k) => element("tr", {},
    element("td", {}, k === taken.terms.length - 1 ? "running sum" : `${taken.term} ${k + 1}`),
    element("td", { class: "n" }, term.value), element("td", { class: "n" }, term.kept ?? term.value),
    element("td", { class: "n lost" }, term.lost)));
  const table = element("table", {}, element("thead", {}, element("tr", {}, element("th", {}, "term"),
    ...["value", "kept", "lost"].map((name) => element("th", { class: "n" }, name)))), element("tbody", {}, ...rows));
  label(table);
  return element("details", i < 2 ? { open: "" } : {},
    element("summary", {}, `${i + 1}. ${taken.what}: ${taken.exact} becomes ${taken.result} (${taken.rounding}${window})`),
    element("div", { class: "wide" }, table));
}

// --- beginning ----------------------------------------------------------------------------------------------------------

function set(key, value) {
  state[key] = value;
  if (at(key) && at(key).value !== value) at(key).value = value;
  keep();
  if (UNIT.includes(key)) showUnit();
  else if (NUMBER.includes(key)) showNumber();
  else if (SUM.includes(key)) showSum();
  else showNumber();
}

function fill() {
  for (const key of [...NUMBER, ...SUM]) at(key).value = state[key];
  for (const box of at("shown").querySelectorAll("input")) box.checked = state.show.split(",").includes(box.value);
}

async function begin() {
  readAddress();
  model = await openModel(FP9);
  const shown = model.formats.slice(0, model.tables.shown), operands = shown.filter((f) => f.operand);
  curves = shown;
  const roundings = ["own", ...Object.keys(model.tables.roundings)];
  for (const [id, list] of [["rounding", roundings], ["overflow", model.tables.overflow],
    ["format_a", operands.map((f) => f.name)], ["format_b", operands.map((f) => f.name)], ["engine", [...model.engines.keys()]]])
    at(id).append(...list.map((name) => element("option", { value: name, title: model.tables.roundings[name]?.words ?? "" },
      name === "own" ? "each format's own" : name)));
  at("shown").append(...curves.map((c) => element("label", {}, element("input", { type: "checkbox", value: c.name,
    onchange: () => set("show", [...at("shown").querySelectorAll("input:checked")].map((box) => box.value).join(",")) }),
    c.name)));
  fill();
  for (const key of [...NUMBER, ...SUM])
    at(key).addEventListener("input", () => set(key, at(key).value));
  at("drag").addEventListener("input", () => set("x",
    (state.x.trim().startsWith("-") ? "-" : "") + Number((2 ** at("drag").value).toPrecision(6))));
  at("x").addEventListener("keydown", (event) => {
    if (event.key === "ArrowUp" || event.key === "ArrowDown") { event.preventDefault(); step(event.key === "ArrowUp"); }
  });
  addEventListener("resize", () => { showNumber(); showBlock(); });
  addEventListener("hashchange", () => { readAddress(); fill(); showNumber(); showBlock(); showSum(); showUnit(); });
  showNumber();
  beginBlock();
  showSum();
  document.body.dataset.ready = "yes";
  await findUnits();
}

addEventListener("DOMContentLoaded", begin);
