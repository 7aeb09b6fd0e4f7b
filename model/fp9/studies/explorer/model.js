"use strict";
// The golden model in C, compiled to WebAssembly, and exact arithmetic around it. Numbers are fractions of BigInt.
const KINDS = ["zero", "finite", "inf", "nan", "undefined"];
const [ZERO, FINITE, INF, NAN] = [0, 1, 2, 3];
const NUMBER_BYTES = 24, NO_TOP = -100000, RANDOM_WIDTH = 16;
const DECIMAL = /^([+-]?)(\d+\.?\d*|\.\d+)(?:e([+-]?\d{1,3}))?$/i;

async function openModel({ tables, module }) {
  const bytes = Uint8Array.from(atob(module), (letter) => letter.charCodeAt(0));
  const { instance } = await WebAssembly.instantiate(bytes);
  return new Model(tables, instance.exports);
}

const power = (e) => 1n << BigInt(e);
const length = (n) => n.toString(2).length;
const whole = (n, d = 1n) => ({ n, d });
const abs = (x) => whole(x.n < 0n ? -x.n : x.n, x.d);
const plus = (x, y) => whole(x.n * y.d + y.n * x.d, x.d * y.d);
const minus = (x, y) => plus(x, whole(-y.n, y.d));
const over = (x, y) => (y.n < 0n ? whole(-x.n * y.d, -x.d * y.n) : whole(x.n * y.d, x.d * y.n));
const scaled = (m, e) => (e < 0 ? whole(m, power(-e)) : whole(m * power(e)));

function floorLog2(x) {
  const e = length(x.n) - length(x.d);
  return (e < 0 ? x.n * power(-e) < x.d : x.n < x.d * power(e)) ? e - 1 : e;
}

// 62 bits of a positive fraction; a 1 in the last bit stands for what is below.
function significand(x) {
  const exponent = floorLog2(x) - 60;
  const at = over(x, scaled(1n, exponent));
  return { exponent, significand: (at.n / at.d) | (at.n % at.d ? 1n : 0n) };
}

// The float64 next to a fraction.
function float(x) {
  if (!x.n) return 0;
  const { exponent, significand: m } = significand(abs(x));
  const half = Math.trunc(exponent / 2);
  return (x.n < 0n ? -1 : 1) * Number(m) * 2 ** half * 2 ** (exponent - half);
}

class Model {
  constructor(tables, wasm) {
    Object.assign(this, { tables, wasm });
    this.formats = tables.formats;
    this.byName = new Map(tables.formats.map((f, number) => [f.name, number]));
    this.engines = new Map(tables.engines.map((e, number) => [e.name, { ...e, number }]));
    this.blocks = new BlockModel(this);
  }

  // --- numbers ------------------------------------------------------------------------------------------------------

  parse(text) {
    const word = text.trim().toLowerCase();
    if (["inf", "-inf", "nan"].includes(word)) return { kind: word === "nan" ? NAN : INF, negative: word[0] === "-" };
    const found = word.length > 100 ? null : DECIMAL.exec(word);
    if (!found) throw new RangeError(`'${text}' given; give a decimal such as 0.3 or -1e-5, inf or nan`);
    const [before, after = ""] = found[2].split(".");
    const tens = Number(found[3] || 0) - after.length, digits = BigInt(before + after);
    const size = tens < 0 ? whole(digits, 10n ** BigInt(-tens)) : whole(digits * 10n ** BigInt(tens));
    const negative = found[1] === "-";
    return { kind: digits ? FINITE : ZERO, negative, value: negative ? whole(-size.n, size.d) : size };
  }

  encode(x, format, rounding, overflow, random = 0, width = RANDOM_WIDTH) {
    const cut = x.kind === FINITE ? significand(abs(x.value)) : { exponent: 0, significand: 0n };
    const policy = this.tables.overflow.indexOf(overflow);
    const code = this.wasm.encode(format, x.kind, x.negative ? 1 : 0, cut.exponent, cut.significand,
      this.tables.roundings[rounding].number, policy, random, width, this.formats[format].nan ? 0 : 1) >>> 0;
    return { code, flags: this.wasm.flags() };
  }

  decode(code, format) {
    return this.read(this.wasm.decode(format, code));
  }

  // A struct fp9_number of the module's memory.
  read(address) {
    const memory = new DataView(this.wasm.memory.buffer, address, NUMBER_BYTES);
    const [kind, negative, exponent] = [0, 4, 8].map((at) => memory.getInt32(at, true));
    if (kind >= INF) return { kind: Math.min(kind, NAN), negative: negative === 1 };
    const m = memory.getBigUint64(16, true);
    return { kind: m ? FINITE : ZERO, negative: negative === 1, value: scaled(negative ? -m : m, exponent) };
  }

  text(x) {
    if (x.kind >= INF) return (x.negative ? "-" : "") + KINDS[x.kind];
    if (x.kind === ZERO) return x.negative ? "-0" : "0";
    return String(float(x.value));
  }

  number({ x: given, rounding = "own", overflow = "saturate", random = "0" }) {
    const x = this.parse(given), bits = Number(random);
    if (!(Number.isInteger(bits) && bits >= 0 && bits < 1 << RANDOM_WIDTH))
      throw new RangeError(`random bits ${random} given; give an integer below 2^${RANDOM_WIDTH}`);
    const formats = this.formats.slice(0, this.tables.shown).map((_, i) => this.cast(x, i, rounding, overflow, bits));
    return { x: given, float64: x.value ? float(x.value) : null, formats };
  }

  cast(given, number, rounding, overflow, random) {
    const format = this.formats[number];
    const applied = format.offers.includes(rounding) ? rounding : format.own;
    const { x, bits, width } = this.bitsFor(given, applied, random);
    const { code, flags } = this.encode(x, number, applied, format.specials ? overflow : "saturate", bits, width);
    const result = this.decode(code, number);
    return {
      name: format.name, bits: format.bits, rounding: applied, value: this.text(result), fields: this.split(code, format),
      code: code.toString(16).toUpperCase().padStart(Math.ceil(format.bits / 4), "0"),
      relative: x.kind === FINITE && result.value ? float(over(minus(result.value, x.value), abs(x.value))) : null,
      flags: Object.entries(this.tables.flags).filter(([, flag]) => flag & flags).map(([name]) => name),
      decision: this.decision(x, format, applied, bits, width, result, number),
    };
  }

  // Hybrid rounding takes its threshold from the last 14 bits of the number in FP32.
  bitsFor(x, rounding, random) {
    const { source, random: needed } = this.tables.roundings[rounding];
    if (!source) return { x, bits: needed ? random : 0, width: RANDOM_WIDTH };
    const fp32 = this.byName.get("fp32"), { code } = this.encode(x, fp32, "rne", "inf");
    const held = this.decode(code, fp32);
    return { x: held.kind === x.kind ? held : x, bits: code & 0x3FFF, width: 14 };
  }

  // Where a number lies between its neighbours, in magnitudes, and from where on it is rounded up.
  decision(x, format, rounding, bits, width, result, number) {
    if (x.kind !== FINITE || (x.negative && !format.signed)) return null;
    const size = abs(x.value), e = floorLog2(size), ulp = scaled(1n, this.quantum(format, e));
    const steps = over(size, ulp), count = steps.n / steps.d;
    const below = whole(count * ulp.n, ulp.d), above = whole((count + 1n) * ulp.n, ulp.d);
    const same = (y) => result.value && minus(abs(result.value), y).n === 0n;
    const largest = this.decode(format.largest, number).value;
    return {
      below: String(float(below)), above: String(float(above)), place: float(minus(steps, whole(count))),
      threshold: this.threshold(format, rounding, bits, width, e),
      up: same(above) ? true : same(below) ? false : null, beyond: minus(above, largest).n > 0n,
    };
  }

  quantum(format, e) {
    const [lowest, highest] = [format.points[0], format.points.at(-1)];
    const at = Math.max(e, lowest[0]), point = format.points[Math.min(at, highest[0]) - lowest[0]];
    return format.fixed ? lowest[0] - lowest[1] + 1 : at - point[1] + 1;
  }

  threshold(format, rounding, bits, width, e) {
    const { random, nearest, source } = this.tables.roundings[rounding];
    if (random) return 1 - bits / 2 ** width;
    if (source && format.hybrid.includes(e)) return bits / 2 ** width;
    return nearest || source ? 0.5 : null;
  }

  // The fields of a code from left to right.
  split(code, format) {
    const text = code.toString(2).padStart(format.bits, "0");
    const magnitude = code & (2 ** (format.bits - 1) - 1);
    const widths = format.fields.findLast(([first]) => first === 0 || first <= magnitude)[1];
    let at = 0;
    return Object.entries(widths).filter(([, width]) => width)
      .map(([name, width]) => ({ name, bits: text.slice(at, (at += width)) }));
  }

  block(choice) {
    return this.blocks.cast(choice);
  }

  // --- sums ---------------------------------------------------------------------------------------------------------

  sum({ a, b, format_a, format_b, c = "0", engine = "hopper" }) {
    const formats = [format_a, format_b].map((name) => this.operand(name));
    const codes = [a, b].map((text, side) => this.codes(text, formats[side]));
    if (codes[0].length !== codes[1].length)
      throw new RangeError(`vectors of ${codes[0].length} and ${codes[1].length} numbers given; give as many in both`);
    const chosen = this.engines.get(engine), start = this.parse(c);
    if (!chosen) throw new RangeError(`engine '${engine}' given; give one of ${[...this.engines.keys()].join(", ")}`);
    for (const format of formats) if (!chosen.operands.includes(format))
      throw new RangeError(`${this.formats[format].name} given with engine ${engine}; give one of ` +
        chosen.operands.map((number) => this.formats[number].name).join(", "));
    codes.forEach((each, side) => each.forEach((code, i) => this.wasm.set(side, i, formats[side], code)));
    const shown = codes.map((each, side) => each.map((code) => this.decode(code, formats[side])));
    const exact = this.total([...shown[0].map((x, i) => this.product(x, shown[1][i])), start]);
    const result = this.added(chosen, codes[0].length, start);
    const steps = Array.from({ length: this.wasm.recorded() }, (_, i) => this.step(this.wasm.step(i), chosen));
    return {
      a: shown[0].map(this.text), b: shown[1].map(this.text), exact: this.text(exact), engine: chosen.name,
      output: this.formats[chosen.output].name, result: this.text(result), steps,
      engines: [...this.engines.values()].filter((other) => formats.every((f) => other.operands.includes(f)))
        .map((other) => this.other(other, codes[0].length, start, exact)),
    };
  }

  operand(name) {
    const number = this.byName.get(name);
    if (number === undefined || !this.formats[number].operand)
      throw new RangeError(`${name} given as operand; give a format with a sign of at most ${this.tables.widest} bits`);
    return number;
  }

  codes(text, format) {
    const words = text.split(/[\s,;]+/).filter(Boolean);
    if (!words.length || words.length > this.tables.most)
      throw new RangeError(`${words.length} numbers given; give 1 to ${this.tables.most}, apart by blanks or commas`);
    return words.map((word) => this.encode(this.parse(word), format, this.formats[format].own, "saturate").code);
  }

  added(engine, count, start) {
    const { code } = this.encode(start, engine.addend, "rne", "saturate");
    return this.decode(this.wasm.sum(engine.number, count, code) >>> 0, engine.output);
  }

  other(engine, count, start, exact) {
    const found = this.added(engine, count, start);
    const off = found.value && exact.value ? abs(minus(found.value, exact.value)) : null;
    const error = off && float(exact.value.n ? over(off, abs(exact.value)) : off);
    return { engine: engine.name, output: this.formats[engine.output].name, result: this.text(found), error };
  }

  product(x, y) {
    const negative = x.negative !== y.negative;
    if (x.kind === NAN || y.kind === NAN || (x.kind + y.kind === INF && x.kind !== y.kind)) return { kind: NAN };
    if (x.kind === INF || y.kind === INF) return { kind: INF, negative };
    const value = whole(x.value.n * y.value.n, x.value.d * y.value.d);
    return { kind: value.n ? FINITE : ZERO, negative, value };
  }

  total(terms) {
    const signs = new Set(terms.filter((x) => x.kind === INF).map((x) => x.negative));
    if (signs.size === 2 || terms.some((x) => x.kind === NAN)) return { kind: NAN };
    if (signs.size) return { kind: INF, negative: signs.has(true) };
    const value = terms.map((x) => x.value).reduce(plus, whole(0n));
    return { kind: value.n ? FINITE : ZERO, negative: value.n < 0n || terms.every((x) => x.kind === ZERO && x.negative), value };
  }

  // A struct step_record of the module's memory.
  step(address, engine) {
    const memory = new DataView(this.wasm.memory.buffer, address, 16);
    const [joins, count, top] = [0, 4, 8].map((at) => memory.getInt32(at, true));
    const most = (this.wasm.record_bytes() - 16) / NUMBER_BYTES / 2;
    const numbers = (first) => Array.from({ length: count }, (_, i) =>
      this.read(address + 16 + NUMBER_BYTES * (first + i)));
    const terms = numbers(0), kept = top === NO_TOP ? null : numbers(most);
    const code = memory.getUint32(12, true);
    return {
      what: joins ? "chunk joins" : "step", term: joins ? "chunk" : engine.group ? "group" : "product",
      top: kept && top, last: kept && top - engine.width,
      terms: terms.map((x, i) => {
        const lost = kept && minus(x.value, kept[i].value);
        return { value: this.text(x), kept: kept && this.text(kept[i]), lost: lost && lost.n ? String(float(lost)) : "" };
      }),
      exact: this.text(this.total(terms)), rounding: engine.rounding,
      result: this.text(this.decode(code, joins ? engine.output : engine.result)),
    };
  }
}
