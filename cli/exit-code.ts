/** What the command ends with. From 64 on they are those of sysexits.h. */
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
  [EXIT.DONE]: "it is done; a tail was ended with Ctrl-C",
  [EXIT.NO]:
    "the answer is no: the test failed, the signature is not right, or the workspace's state forbids it",
  [EXIT.USAGE]: "the command line is not right",
  [EXIT.DATA]: "what was sent breaks a rule; the message names the field",
  [EXIT.NOT_FOUND]: "there is no such workspace, or no such file",
  [EXIT.OUT_OF_REACH]: "core, or its store, is out of reach: whether it was done is unknown",
  [EXIT.FAULT]: "a fault of the command or of core",
  [EXIT.CANNOT_WRITE]:
    "the file of a secret cannot be written; the message says whether anything was changed",
  [EXIT.TOKEN]: "core does not take the token, or it is of another role",
  [EXIT.SETTINGS]: "a setting is missing or not right",
  [EXIT.INTERRUPTED]: "interrupted",
};
