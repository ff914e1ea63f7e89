/** Words that examples and placeholders contain. A random token contains none of them. */
const PLACEHOLDERS = ["change", "default", "example", "operator", "passw", "secret", "token"];
/** In base64, 128 random bits take at least this many characters. */
const CHARACTERS_MIN = 22;
const DIFFERENT_MIN = 8;
/** Length of a sequence such as "abcdef" that a random token does not contain. */
const SEQUENCE_MIN = 6;

/**
 * Returns why a token is easy to guess, in a few words that follow "it has"; undefined when no reason is found. The
 * words never contain a part of the token.
 */
export function weaknessOf(token: string): string | undefined {
  if (token.length < CHARACTERS_MIN) return `only ${token.length} characters`;
  const different = new Set(token).size;
  if (different < DIFFERENT_MIN) return `only ${different} different characters`;
  const lower = token.toLowerCase();
  if (PLACEHOLDERS.some((word) => lower.includes(word))) return "a word that placeholders have";
  return longestSequence(token) >= SEQUENCE_MIN ? "a sequence of successive characters" : undefined;
}

/** Returns the length of the longest part in which each character's code is one more than the code before it. */
function longestSequence(text: string): number {
  let longest = 0;
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    const isNext = at > 0 && text.charCodeAt(at) === text.charCodeAt(at - 1) + 1;
    length = isNext ? length + 1 : 1;
    longest = Math.max(longest, length);
  }
  return longest;
}
