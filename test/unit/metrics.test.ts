import * as fc from "fast-check";
import { byLabel, countsOf, createMetrics } from "../../runtime/metrics";
import { parseMetrics } from "../harness/metrics";

const BOUNDS = [0.1, 1, 10];

test("a histogram's buckets hold each value up to their bound, and its sum and count are those of all values", async () => {
  const value = fc.oneof(fc.double({ min: 0, max: 20, noNaN: true }), fc.constantFrom(...BOUNDS, 0));
  await fc.assert(
    fc.asyncProperty(fc.array(value, { maxLength: 50 }), async (values) => {
      const metrics = createMetrics();
      const histogram = metrics.histogram("of_seconds", "words", BOUNDS);
      for (const each of values) histogram.observe(each);
      const read = parseMetrics(await metrics.text()).get("of_seconds");
      const within = (bound: number): number => values.filter((each) => each <= bound).length;
      expect(read).toMatchObject({ type: "histogram", help: "words" });
      expect(Object.fromEntries(read?.values ?? [])).toEqual({
        '_bucket le="0.1"': within(0.1),
        '_bucket le="1"': within(1),
        '_bucket le="10"': within(10),
        '_bucket le="+Inf"': values.length,
        _sum: values.reduce((sum, each) => sum + each, 0),
        _count: values.length,
      });
    }),
    { numRuns: 50 },
  );
});

test("histograms by a label are apart, and those whose label is known are there before their first value", async () => {
  const metrics = createMetrics();
  const of = metrics.histograms("of_seconds", "words", BOUNDS, "name", ["known"]);
  of("found").observe(5);
  of("found").observe(0.5);
  const { values } = parseMetrics(await metrics.text()).get("of_seconds") ?? {};
  expect(values?.get('_count name="known"')).toBe(0);
  expect(values?.get('_count name="found"')).toBe(2);
  expect(values?.get('_bucket name="found",le="1"')).toBe(1);
});

test("a counter and a gauge are read when somebody looks, and have no value while it is not known", async () => {
  const metrics = createMetrics();
  const counts = countsOf(["a", "b"]);
  let waiting: number | undefined;
  metrics.counter("things_total", "words", () => byLabel("what", counts));
  metrics.gauge("things_waiting", "words", () => waiting);
  const read = async (name: string) => parseMetrics(await metrics.text()).get(name);
  expect(Object.fromEntries((await read("things_total"))?.values ?? [])).toEqual({
    'what="a"': 0,
    'what="b"': 0,
  });
  expect((await read("things_waiting"))?.values.size).toBe(0);
  counts.a += 3;
  waiting = 7;
  expect((await read("things_total"))?.values.get('what="a"')).toBe(3);
  expect(await read("things_waiting")).toMatchObject({ type: "gauge", values: new Map([["", 7]]) });
});

test("what has to be asked for is asked before each reading, and a failure of it spoils nothing", async () => {
  const metrics = createMetrics();
  let readings = 0;
  metrics.beforeReading(async () => {
    readings += 1;
    await new Promise(setImmediate);
    if (readings === 2) throw new Error("it is away");
  });
  metrics.gauge("readings", "words", () => readings);
  for (const count of [1, 2, 3]) {
    expect(
      parseMetrics(await metrics.text())
        .get("readings")
        ?.values.get(""),
    ).toBe(count);
  }
});

test("a name is given to one metric only", () => {
  const metrics = createMetrics();
  metrics.gauge("one", "words", () => 1);
  expect(() => metrics.counter("one", "words", () => 1)).toThrow(/already/);
});

test("a label's value may be any text", async () => {
  const metrics = createMetrics();
  metrics.gauge("one", "words", () => [{ labels: { group: 'a "b" \\ \n c' }, value: 1 }]);
  expect(await metrics.text()).toContain('one{group="a \\"b\\" \\\\ \\n c"} 1\n');
});

test.each(["", "3", "name value", "# TYPE other counter", 'unknown{label="x"} 1'])(
  "the tests' reader of the format takes no other lines, such as %j",
  (line) => {
    const text = `# HELP name words\n# TYPE name gauge\nname 1\n${line}\n`;
    if (line === "") expect(parseMetrics(text).get("name")?.values.get("")).toBe(1);
    else expect(() => parseMetrics(text)).toThrow(line);
  },
);
