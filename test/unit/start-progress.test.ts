import { Progress } from "../../deploy/local/progress";

const CLEAR = "\r\u001b[K";

function output(terminal: { readonly isTTY?: true; readonly columns?: number }) {
  const written: string[] = [];
  return { ...terminal, written, write: (text: string) => void written.push(text) };
}

// time: controlled
describe("on a terminal", () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test("each step replaces the previous step in one line, which also shows the seconds; notes stay visible", () => {
    const terminal = output({ isTTY: true });
    const progress = new Progress(terminal);
    progress.step("one");
    jest.advanceTimersByTime(2_000);
    expect(terminal.written).toEqual([`${CLEAR}· one`, `${CLEAR}· one … 1 s`, `${CLEAR}· one … 2 s`]);
    terminal.written.length = 0;
    progress.step("two");
    progress.note("three");
    progress.clear();
    jest.advanceTimersByTime(5_000);
    expect(terminal.written).toEqual([CLEAR, `${CLEAR}· two`, CLEAR, "· three\n"]);
  });

  test("a step never fills more than one line", () => {
    const terminal = output({ isTTY: true, columns: 10 });
    new Progress(terminal).step("a long step");
    expect(terminal.written).toEqual([`${CLEAR}· a long `]);
  });
});

test("if the output is not a terminal, each step is printed as a line of its own", () => {
  const file = output({});
  const progress = new Progress(file);
  progress.step("one");
  progress.step("two");
  progress.note("three");
  progress.clear();
  expect(file.written).toEqual(["· one\n", "· two\n", "· three\n"]);
});
