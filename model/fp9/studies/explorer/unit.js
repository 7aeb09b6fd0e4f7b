"use strict";
// A unit of the catalogue, its fields as a form, and what is measured of it, in the background.
const AREA_EVERY = 300, SETTLED = 400;  // milliseconds
let asking = 0, drawn = null, served = false;

const settings = () => new Map(state.set.split(";").filter(Boolean).map((text) => {
  const at = text.indexOf("=");
  return [text.slice(0, at), text.slice(at + 1)];
}));

// Shows the section if `fp9 explore` serves the page.
async function findUnits() {
  const answer = location.protocol === "file:" ? null : await fetch("api/").catch(() => null);
  served = answer?.headers.get("Content-Type") === "application/json";
  at("units").hidden = !served;
  at("no-units").hidden = served;
  await showUnit();
}

async function showUnit() {
  if (!served) return;
  const found = await ask("sheet", UNIT);
  if (!found) return;
  if (!at("unit").options.length) {
    at("unit").append(...found.units.map((name) => element("option", { value: name }, name)));
    at("unit").addEventListener("input", () => { state.set = ""; set("unit", at("unit").value); });
    at("usual").addEventListener("click", () => { drawn = null; set("set", ""); });
  }
  at("unit").value = found.unit;
  if (drawn !== found.unit || !at("fields").contains(document.activeElement)) {
    drawn = found.unit;
    at("fields").replaceChildren(...found.fields.map(control));
  }
  for (const field of found.fields) at("field-" + field.name).classList.toggle("changed", field.text !== field.usual);
  at("command").textContent = found.command;
  at("sheet").innerHTML = found.sheet;
  at("timing").innerHTML = found.timing;
  clearTimeout(asking);
  asking = setTimeout(showArea, SETTLED);
}

function control(field) {
  const id = "field-" + field.name;
  const change = () => {
    const all = settings(), said = at(id).value.trim();
    if (said === field.usual) all.delete(field.name); else all.set(field.name, said);
    set("set", [...all].map((pair) => pair.join("=")).join(";"));
  };
  if (field.offered.length && !field.several && field.offered.length < 4) {
    const chosen = element("select", { id, oninput: change }, ...field.offered.map((name) => element("option", {}, name)));
    chosen.value = field.text;
    return element("label", {}, field.name, chosen);
  }
  const number = !field.offered.length;
  const input = element("input", { id, value: field.text, onchange: change, autocomplete: "off", spellcheck: "false",
    ...(number ? { type: "number", min: 0, class: "short" } : { list: "list-" + field.name }) });
  const names = element("datalist", { id: "list-" + field.name }, ...field.offered.map((name) => element("option", { value: name })));
  return element("label", {}, field.name + (field.several ? " (apart by commas)" : ""), input, ...(number ? [] : [names]));
}

async function showArea() {
  const specs = state.set ? [state.set, ""] : [""];
  at("estimates").replaceChildren();
  const measured = {};
  for (const given of specs) {
    const found = await measure(given);
    if (!found) return;
    measured[given] = found.estimates;
    at("rests").textContent = `Area and delay in standard cells of ${found.library}: ${found.note}`;
    at("estimates").replaceChildren(...specs.filter((s) => measured[s]).flatMap((s) => measured[s].map((e) =>
      figures(s, e, state.set && s ? measured[""] : null))));
    label(at("estimates").closest("table"));
  }
  at("measured").textContent = "";
}

async function measure(given) {
  const turn = ++latest.area, unit = state.unit;
  for (;;) {
    const answer = await fetch("api/area?" + new URLSearchParams({ unit, set: given }));
    const found = await answer.json();
    if (turn !== latest.area) return null;
    at("measuring").hidden = found.state !== "under way";
    if (found.state === "measured") return found;
    if (found.state !== "under way") { at("measured").textContent = found.says ?? found.error; return null; }
    at("measured").textContent = `Being measured: ${found.what}`;
    at("measuring").max = found.of;
    if (found.done) at("measuring").value = found.done; else at("measuring").removeAttribute("value");
    await new Promise((wake) => setTimeout(wake, AREA_EVERY));
  }
}

function figures(given, estimate, usual) {
  const base = usual && usual.find((other) => other.mapping === estimate.mapping);
  const ratio = (name) => base ? (estimate[name] / base[name]).toFixed(3) : "";
  return element("tr", { "data-mapping": estimate.mapping }, ...[given || "as in the catalogue", estimate.mapping].map((text) =>
    element("td", {}, text)), ...[Math.round(estimate.area_um2).toLocaleString("en"), Math.round(estimate.nand2).toLocaleString("en"),
    estimate.flip_flops, estimate.delay_ns.toFixed(2), ratio("area_um2"), ratio("delay_ns")].map((text) =>
    element("td", { class: "n" }, String(text))));
}
