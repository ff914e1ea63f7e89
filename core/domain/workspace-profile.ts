import parseAddresses from "nodemailer/lib/addressparser";
import { ID_MAX_CHARACTERS as NAME_MAX_CHARACTERS } from "../../contract/numbers";
import { isBlank } from "./blank-text";

const EMAIL_MAX_CHARACTERS = 254;
/**
 * Control characters, line breaks and text-direction controls. In a name, such characters would change how emails and
 * pages show the text around the name.
 */
const NAME_CONTROL = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
/**
 * One @ with text on both sides. Only sending an email can show whether the address exists. "%" and "!" before the @
 * are excluded, because some mail servers forward emails to such an address to another host.
 */
const EMAIL_FORM = /^[^\s\p{Cc}\p{Cf}@,<>%!]+@[^\s\p{Cc}\p{Cf}@,<>]+$/u;

/** Returns the rule that a workspace's name or owner's email breaks, or undefined. Undefined fields are skipped. */
export function findProfileFault({
  name,
  ownerEmail = "",
}: {
  readonly name?: string | undefined;
  readonly ownerEmail?: string | undefined;
}): string | undefined {
  const nameFault = name === undefined ? undefined : findNameFault(name);
  if (nameFault !== undefined) return `name ${nameFault}`;
  if (ownerEmail !== "" && !isEmail(ownerEmail)) {
    return `owner_email must be an email address of at most ${EMAIL_MAX_CHARACTERS} characters, or empty`;
  }
  return undefined;
}

/** Whether a string has the form of one email address, without a display name. */
export function isEmail(text: string): boolean {
  if (text.length > EMAIL_MAX_CHARACTERS || !EMAIL_FORM.test(text)) return false;
  // The library that sends the emails must parse the string as this one address, and not e.g. as the group
  // "mailto:a@b".
  const [parsed, ...more] = parseAddresses(text);
  return parsed?.address === text && parsed.name === "" && more.length === 0;
}

function findNameFault(name: string): string | undefined {
  const length = [...name].length;
  if (length < 1 || length > NAME_MAX_CHARACTERS) return `must be 1 to ${NAME_MAX_CHARACTERS} characters`;
  if (NAME_CONTROL.test(name))
    return "must not contain control characters, line breaks or text-direction controls";
  return isBlank(name) ? "must contain a visible character" : undefined;
}
