/**
 * Whether a chat can open a link's URL. Other links, e.g. relative links, and links with `javascript:` or `data:`, are
 * shown as their label only.
 */
export function isWebUrl(url: string): boolean {
  return /^(?:https?:\/\/|mailto:)[^\s\p{Cc}]+$/iu.test(url);
}
