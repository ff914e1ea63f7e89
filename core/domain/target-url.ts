import ipaddr from "ipaddr.js";

const TARGET_URL_MAX_CHARACTERS = 2048;

/** Parses a target URL. If the form of the URL is not allowed, returns the reason as text for the owner. */
export function parseTargetUrl(text: string): URL | string {
  if (text.length > TARGET_URL_MAX_CHARACTERS) {
    return `the target URL must be at most ${TARGET_URL_MAX_CHARACTERS} characters`;
  }
  // The URL parser also accepts backslashes, and forms such as "https:bridge.example", which people would misread.
  if (/[\s\\]/.test(text) || !URL.canParse(text))
    return "the target URL must be an absolute URL, such as https://bridge.example/events";
  const url = new URL(text);
  if (!/^https:\/\/[^/]/i.test(text)) return "the target URL must begin with https://";
  if (url.username !== "" || url.password !== "") {
    return "the target URL must not contain a user name or password: pushes are signed, so check the signature instead";
  }
  if (url.hash !== "") return "the target URL must not have a fragment (#…): fragments are never sent";
  return url;
}

/** Returns the literal IP address of a URL, without brackets, or undefined when the URL has a host name. */
export function literalAddress(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return ipaddr.isValid(host) ? host : undefined;
}
