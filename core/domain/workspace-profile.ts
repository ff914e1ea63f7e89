import { isBlank } from "./blank-text";

const NAME_MAX_CHARACTERS = 128;
const EMAIL_MAX_CHARACTERS = 254;
/** Control characters, line breaks and text-direction controls: they change the text around the name in mails and pages. */
const NAME_CONTROL = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
/** One @ with something on both sides: whether mail arrives there, only mail can tell. */
const EMAIL_FORM = /^[^\s\p{Cc}\p{Cf}@,<>]+@[^\s\p{Cc}\p{Cf}@,<>]+$/u;

/** The first fault of a workspace's name or owner's e-mail, in words, or undefined. What is undefined has none. */
export function findProfileFault({
  name,
  ownerEmail = "",
}: {
  readonly name?: string | undefined;
  readonly ownerEmail?: string | undefined;
}): string | undefined {
  const nameFault = name === undefined ? undefined : findNameFault(name);
  if (nameFault !== undefined) return `name ${nameFault}`;
  if (ownerEmail !== "" && (!EMAIL_FORM.test(ownerEmail) || ownerEmail.length > EMAIL_MAX_CHARACTERS)) {
    return `owner_email must be an e-mail address of at most ${EMAIL_MAX_CHARACTERS} characters, or empty`;
  }
  return undefined;
}

function findNameFault(name: string): string | undefined {
  const length = [...name].length;
  if (length < 1 || length > NAME_MAX_CHARACTERS) return `must be 1 to ${NAME_MAX_CHARACTERS} characters`;
  if (NAME_CONTROL.test(name))
    return "must not contain control characters, line breaks or text-direction controls";
  return isBlank(name) ? "must contain a visible character" : undefined;
}
