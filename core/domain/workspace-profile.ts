const NAME_MAX_CHARACTERS = 128;
const EMAIL_MAX_CHARACTERS = 254;
/** One @ with something on both sides: whether mail arrives there, only mail can tell. */
const EMAIL_FORM = /^[^\s@,<>]+@[^\s@,<>]+$/;

/** The first fault of a workspace's name or owner's e-mail, in words, or undefined. */
export function findProfileFault({
  name,
  ownerEmail,
}: {
  readonly name: string;
  readonly ownerEmail: string;
}): string | undefined {
  const nameLength = [...name].length;
  if (nameLength < 1 || nameLength > NAME_MAX_CHARACTERS) {
    return `name must be 1 to ${NAME_MAX_CHARACTERS} characters`;
  }
  if (ownerEmail !== "" && (!EMAIL_FORM.test(ownerEmail) || ownerEmail.length > EMAIL_MAX_CHARACTERS)) {
    return `owner_email must be an e-mail address of at most ${EMAIL_MAX_CHARACTERS} characters, or empty`;
  }
  return undefined;
}
