"use strict";
// A block of numbers in a block format: scales, elements, decoded values and errors.

// Numbers of the address or, without them, random numbers that fill one block.
function blockNumbers() {
  return state.numbers || randomNumbers(Number(state.seed), model.blocks.formats.get(state.block)?.length ?? 32).join(" ");
}

function fillBlock() {
  const format = model.blocks.formats.get(state.block), rules = format?.rules ?? [];
  at("rule").replaceChildren(...rules.map((rule) => element("option", { value: rule.name, title: rule.source }, rule.name)));
  at("rule").value = state.rule || rules[0]?.name;
  at("tensor-box").hidden = !format?.tensor;
  for (const key of ["block", "tensor", "seed"]) at(key).value = state[key];
  if (document.activeElement !== at("numbers")) at("numbers").value = blockNumbers();
}

function setBlock(key, value) {
  state[key] = value;
  if (key === "block" && !model.blocks.formats.get(value).rules.some((rule) => rule.name === state.rule)) state.rule = "";
  if (key === "seed") state.numbers = "";
  keep();
  showBlock();
}

function showBlock() {
  fillBlock();
  const found = computed("block", { ...state, numbers: blockNumbers() });
  if (!found) return;
  const tensor = found.tensor ? ["Tensor scale ", ...codeShown(found.tensor), ` = ${short(found.tensor.value)} (fp32). `] : [];
  at("scales").replaceChildren(element("p", {}, `${found.name}, rule ${found.rule}: ${found.bits} bits per number. `, ...tensor,
    found.error === null ? "" : `Root-mean-square error, relative to the numbers: ${percent(found.error)}.`), ...found.blocks.map(scaleShown(found)));
  const elements = found.blocks.flatMap((block) => block.elements);
  drawBlock(elements);
  rows("elements", elements.map(elementRow));
  rows("blocks", found.formats.map((other) => element("tr", { "aria-current": other.name === found.name, "data-block": other.name },
    element("td", {}, element("button", { type: "button", onclick: () => setBlock("block", other.name) }, other.name)),
    element("td", {}, other.element), element("td", {}, other.scale), element("td", { class: "n" }, String(other.length)),
    element("td", { class: "n" }, String(other.bits)), element("td", {}, other.rule),
    element("td", { class: "n" }, percent(other.error)))));
}

function bitsShown(fields) {
  return element("span", { class: "bits" }, ...fields.map((f) => element("span", { class: f.name, title: f.name }, f.bits)));
}

const codeShown = (said) => [`0x${said.code} `, bitsShown(said.fields)];

const scaleShown = (found) => (block, i) => {
  const many = found.blocks.length > 1 ? ` ${i + 1}` : "", count = block.elements.length;
  const padded = count < found.length ? ` ${count} of ${found.length} numbers are given; the others are zeros.` : "";
  const levels = block.levels.flatMap(({ group, bits }) => [element("br"), `Level bits, one for each group of ${group}: `,
    element("span", { class: "bits" }, bits)]);
  return element("p", {}, `Block${many}: scale `, ...codeShown(block.scale), ` = ${short(block.scale.value)} (${found.scale}).`,
    padded, ...levels);
};

function elementRow(e, i) {
  const times = e.factor > 1 ? ` \u00d7 ${e.factor}` : "";
  const numbers = [[e.x, short(e.x)], [e.own + times, e.own + times], [e.value, short(e.value)]]
    .map(([all, said]) => element("td", { class: "n", title: all }, said));
  return element("tr", {}, element("td", { class: "n place" }, String(i + 1)), numbers[0], element("td", {}, ...codeShown(e)),
    numbers[1], numbers[2], element("td", { class: "n lost", title: e.off ?? "" }, e.off === null ? "" : short(String(e.off), 3)),
    element("td", { class: "n" }, percent(e.relative)));
}

const short = (text, digits = 4) =>
  Number.isFinite(Number(text)) && text !== "-0" ? String(Number(Number(text).toPrecision(digits))) : text;

function drawBlock(elements) {
  const shown = elements.filter((e) => e.float !== null && e.input !== null);
  at("block-legend").hidden = !shown.length;
  if (!shown.length) return at("block-picture").replaceChildren("The scale is NaN, so every decoded value is NaN.");
  const wide = width("block-picture"), values = shown.flatMap((e) => [e.float, e.input]);
  const top = Math.max(0, ...values), low = Math.min(0, ...values), range = top - low || 1;
  const left = 70, each = (wide - left - 10) / elements.length, bar = Math.max(1, Math.min(24, each * 0.7));
  const x = (i) => left + each * (i + 0.5), y = (value) => 12 + (196 * (top - value)) / range;
  const parts = [...new Set([top, 0, low])].flatMap((value) => [
    element("line", { x1: left, x2: wide - 10, y1: y(value), y2: y(value), class: "axis" }),
    ...(value && Math.abs(y(value) - y(0)) < 16 ? [] : [
      element("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, short(String(value)))])]);
  elements.forEach((e, i) => {
    if (e.float === null || e.input === null) return;
    const said = element("title", {}, `${i + 1}: ${short(e.x)} becomes ${short(e.value)}`);
    parts.push(element("rect", { x: x(i) - bar / 2, width: bar, y: Math.min(y(e.float), y(0)),
      height: Math.max(1, Math.abs(y(e.float) - y(0))), class: "decoded" }, said),
      element("line", { x1: x(i), x2: x(i), y1: y(e.float), y2: y(e.input), class: "error", "stroke-width": Math.min(3, bar) }),
      element("circle", { cx: x(i), cy: y(e.input), r: Math.min(4, 1 + bar / 4), fill: "currentColor" }));
  });
  at("block-picture").replaceChildren(element("svg", { viewBox: `0 0 ${wide} 220`, role: "img",
    "aria-label": `${shown.length} numbers, their decoded values and errors` }, ...parts));
}

function beginBlock() {
  at("block").append(...[...model.blocks.formats.values()].map((block) =>
    element("option", { value: block.name, title: block.source }, block.name)));
  for (const key of ["block", "rule", "tensor", "seed"]) at(key).addEventListener("input", () => setBlock(key, at(key).value));
  // An empty text stays an error; only no text in the address means random numbers.
  at("numbers").addEventListener("input", () => setBlock("numbers", at("numbers").value || " "));
  at("draw").addEventListener("click", () => setBlock("seed", String(Number(state.seed) + 1)));
  showBlock();
}
