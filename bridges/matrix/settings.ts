import {
  blocks,
  choice,
  flag,
  httpUrl,
  list,
  optional,
  optionalSecret,
  type ValuesOf,
} from "chat-bridge-runner";

/** The settings that only the Matrix bridge has. */
export const MATRIX_SETTINGS = {
  MATRIX_HOMESERVER: httpUrl("URL of the homeserver's client API, e.g. https://matrix.example.org"),
  MATRIX_ACCESS_TOKEN: optionalSecret(
    "access token of the bridge's account, instead of a name and a password",
  ),
  MATRIX_USER: optional("name of the bridge's account, e.g. games or @games:example.org"),
  MATRIX_PASSWORD: optionalSecret("password of the account; the bridge logs in once and stores the token"),
  MATRIX_ALLOW_INVITES: list(
    "who may invite the bridge: servers, ids of rooms, or * for everybody; by default, members of its own server",
    "",
  ),
  MATRIX_QUESTIONS: choice(
    "whether a new question is a new message, which notifies members, or an edit of the game's message",
    ["new", "edit"],
    "new",
  ),
  MATRIX_PICTURES: choice(
    "whether an image is shown with its text as the caption, or as a link, for clients without captions",
    ["caption", "link"],
    "caption",
  ),
  MATRIX_ENCRYPTION: flag("whether the bridge plays in encrypted rooms", "off"),
  MATRIX_IMAGE_ALLOW: blocks("CIDRs of non-public addresses from which images may be fetched"),
};

export type MatrixSettings = ValuesOf<typeof MATRIX_SETTINGS>;

/** Reports invalid combinations of settings. */
export function checkMatrixSettings(
  { MATRIX_ACCESS_TOKEN: token, MATRIX_USER: user, MATRIX_PASSWORD: password }: MatrixSettings,
  { fault }: { fault(line: string): void },
): void {
  if (token === undefined && (user === undefined || password === undefined)) {
    fault("MATRIX_ACCESS_TOKEN is missing: give an access token, or MATRIX_USER and MATRIX_PASSWORD");
  }
  if (token !== undefined && password !== undefined) {
    fault("MATRIX_PASSWORD and MATRIX_ACCESS_TOKEN are both set: give only one of them");
  }
}
