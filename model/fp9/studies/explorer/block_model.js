"use strict";
// Block formats: the golden model in C computes scale codes and element codes; decoded values are exact fractions.
class BlockModel {
  constructor(model) {
    this.model = model;
    this.formats = new Map(model.tables.blocks.map((block, number) => [block.name, { ...block, number }]));
    this.fp32 = model.byName.get("fp32");
    this.one = model.encode(model.parse("1"), this.fp32, "rne", "inf").code;
  }

  cast({ block, rule = "", numbers, tensor = "own" }) {
    const format = this.formats.get(block), given = this.numbers(numbers);
    if (!format) throw new RangeError(`block format '${block}' given; give one of ${[...this.formats.keys()].join(", ")}`);
    const names = format.rules.map((known) => known.name), chosen = rule || names[0];
    if (!names.includes(chosen))
      throw new RangeError(`scale rule '${rule}' given with block format ${block}; give one of ${names.join(", ")}`);
    const others = [...this.formats.values()].map((other) => this.summary(other, given, tensor, other === format ? chosen : ""));
    return { ...this.quantised(format, given, tensor, chosen), formats: others };
  }

  // Numbers as FP32, by their codes.
  numbers(text) {
    const words = text.split(/[\s,;[\]]+/).filter(Boolean), most = this.model.tables.numbers;
    if (!words.length || words.length > most)
      throw new RangeError(`${words.length} numbers given; give 1 to ${most} numbers, with spaces or commas between them`);
    return words.map((word) => {
      const { code } = this.model.encode(this.model.parse(word), this.fp32, "rne", "inf");
      return { code, number: this.model.decode(code, this.fp32) };
    });
  }

  quantised(format, given, tensor, rule) {
    const number = format.rules.findIndex((known) => known.name === rule);
    const whole = format.tensor ? this.tensorScale(format, number, given, tensor) : null;
    const blocks = [];
    for (let at = 0; at < given.length; at += format.length)
      blocks.push(this.block(format, number, given.slice(at, at + format.length), whole));
    const elements = blocks.flatMap((block) => block.elements);
    const [element, scale] = [format.element, format.scale].map((number) => this.model.formats[number].name);
    return {
      name: format.name, rule, bits: format.bits, length: format.length, element, scale,
      tensor: whole && this.said(whole.code, this.fp32), blocks, error: rootMeanSquare(elements),
    };
  }

  summary(format, given, tensor, rule) {
    const { blocks, ...rest } = this.quantised(format, given, tensor, rule || format.rules[0].name);
    return rest;
  }

  tensorScale(format, rule, given, tensor) {
    const code = tensor === "own" ? this.model.wasm.tensor_scale(format.number, rule, this.largest(given)) >>> 0 : this.one;
    return { code, value: this.model.decode(code, this.fp32).value };
  }

  // The code of the largest finite magnitude; codes of FP32 have the order of their magnitudes.
  largest(given) {
    const finite = given.filter((x) => x.number.kind < INF).map((x) => x.code & 0x7FFFFFFF);
    return Math.max(0, ...finite);
  }

  block(format, rule, given, tensor) {
    const { wasm } = this.model;
    for (let i = 0; i < format.length; ++i) wasm.set(0, i, this.fp32, i < given.length ? given[i].code : 0);
    const code = wasm.quantise(format.number, rule, tensor ? tensor.code : this.one) >>> 0;
    const codes = new Uint8Array(wasm.memory.buffer, wasm.elements(), format.length).slice(0, given.length);
    const { bits } = this.model.formats[format.scale];
    const own = Number(BigInt(code) & (power(bits) - 1n)), levels = this.levels(format, code, bits);
    const scale = this.model.decode(own, format.scale);
    const elements = given.map((x, i) => {
      const doubled = levels.filter((level) => level.bits[Math.floor(i / level.group)] === "1").length;
      return this.element(x, codes[i], format, scale, doubled, tensor);
    });
    return { scale: { ...this.said(own, format.scale), all: hex(code, bits + levels.reduce((n, l) => n + l.bits.length, 0)) },
      levels, elements };
  }

  // The level bits of each level, the first group's bit first.
  levels(format, code, place) {
    return format.levels.map((group) => {
      const count = format.length / group;
      const bits = Array.from({ length: count }, (_, i) => (code >>> (place + i)) & 1).join("");
      place += count;
      return { group, bits };
    });
  }

  element(x, code, format, scale, doubled, tensor) {
    const { value: own, ...said } = this.said(code, format.element);
    const found = this.decoded(this.model.decode(code, format.element), scale, doubled, tensor);
    const off = found.kind < INF && x.number.kind < INF ? minus(found.value, x.number.value) : null;
    return {
      ...said, own, x: this.model.text(x.number), factor: 2 ** doubled, value: this.model.text(found),
      float: found.kind < INF ? float(found.value) : null, input: x.number.kind < INF ? float(x.number.value) : null,
      off: off && float(off), relative: off && (x.number.value.n ? float(over(off, abs(x.number.value))) : off.n ? null : 0),
    };
  }

  decoded(element, scale, doubled, tensor) {
    if (scale.kind === NAN || element.kind >= INF) return { kind: NAN, negative: false };
    const by = tensor ? tensor.value : whole(1n), up = power(doubled);
    const value = whole(element.value.n * scale.value.n * by.n * up, element.value.d * scale.value.d * by.d);
    return { kind: value.n ? FINITE : ZERO, negative: element.negative, value };
  }

  said(code, number) {
    const format = this.model.formats[number];
    return { code: hex(code, format.bits), fields: this.model.split(code, format), value: this.model.text(this.model.decode(code, number)) };
  }
}

const hex = (code, bits) => code.toString(16).toUpperCase().padStart(Math.ceil(bits / 4), "0");

// The root-mean-square error of elements, relative to the root mean square of the numbers.
function rootMeanSquare(elements) {
  if (elements.some((e) => e.off === null)) return null;
  const largest = Math.max(...elements.map((e) => Math.abs(e.input)));
  if (!largest) return 0;
  const sum = (values) => values.reduce((total, value) => total + (value / largest) ** 2, 0);
  return Math.sqrt(sum(elements.map((e) => e.off)) / sum(elements.map((e) => e.input)));
}

// Numbers with mean 0 and standard deviation 1, always the same ones for a seed: sums of 12 uniform numbers
// from the generator mulberry32, less 6.
function randomNumbers(seed, count) {
  let state = seed | 0;
  const uniform = () => {
    state = (state + 0x6D2B79F5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return Array.from({ length: count }, () => {
    let sum = -6;
    for (let i = 0; i < 12; ++i) sum += uniform();
    return Number(sum.toPrecision(4));
  });
}
