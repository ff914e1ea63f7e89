/** Exit codes of the command. The codes from 64 to 78 are defined in sysexits.h. */
export const EXIT = {
  DONE: 0,
  NO: 1,
  USAGE: 64,
  DATA: 65,
  NOT_FOUND: 66,
  OUT_OF_REACH: 69,
  FAULT: 70,
  CANNOT_WRITE: 73,
  TOKEN: 77,
  SETTINGS: 78,
  INTERRUPTED: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_CODE_WORDS: Readonly<Record<ExitCode, string>> = {
  [EXIT.DONE]: "success, or tail, listen or fake-core was stopped",
  [EXIT.NO]:
    "a check of doctor failed, the test event failed, an event was not queued again, a workspace needs an old key, the signature is invalid, the state of the workspace or the group forbids the call, a game broke a rule of fake-core --strict, or the user declined",
  [EXIT.USAGE]: "the command line is invalid",
  [EXIT.DATA]: "the input breaks a rule; the error message names the field",
  [EXIT.NOT_FOUND]: "the workspace, the event or the group does not exist, or a file cannot be read",
  [EXIT.OUT_OF_REACH]:
    "core, its store or the address for bridges is unavailable; if the command changes something, the change may have been made",
  [EXIT.FAULT]: "an internal error of the command or of core",
  [EXIT.CANNOT_WRITE]:
    "the secret file cannot be written; the error message says whether anything was changed",
  [EXIT.TOKEN]: "core rejects the token, or does not allow the call with this token",
  [EXIT.SETTINGS]: "a setting is missing or invalid",
  [EXIT.INTERRUPTED]: "interrupted",
};
