// Shifts the clock of a process under test by CLOCK_SHIFT_MS milliseconds. The process loads this file with --require.
const shiftMs = Number(process.env.CLOCK_SHIFT_MS);
const RightDate = Date;
const rightNow = Date.now;

globalThis.Date = class ShiftedDate extends RightDate {
  constructor(...args) {
    if (args.length === 0) super(rightNow() + shiftMs);
    else super(...args);
  }
  static now() {
    return rightNow() + shiftMs;
  }
};
