// Loaded before a process under test. Shifts the clock of the process by CLOCK_SHIFT_MS.
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
