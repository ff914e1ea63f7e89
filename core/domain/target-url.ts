import ipaddr from "ipaddr.js";

const TARGET_URL_MAX_CHARACTERS = 2048;

/** A target URL by its form, or why it cannot be one, in words for its owner. */
export function parseTargetUrl(text: string): URL | string {
  if (text.length > TARGET_URL_MAX_CHARACTERS) {
    return `the target URL must be at most ${TARGET_URL_MAX_CHARACTERS} characters`;
  }
  if (/\s/.test(text) || !URL.canParse(text))
    return "the target URL must be an absolute URL, such as https://bridge.example/events";
  const url = new URL(text);
  if (url.protocol !== "https:") return "the target URL must begin with https://";
  if (url.username !== "" || url.password !== "") {
    return "the target URL must not carry a user name or password: pushes are signed, check the signature instead";
  }
  if (url.hash !== "") return "the target URL must not have a fragment (#…): it is never sent";
  return url;
}

/** The address that a URL names directly, without brackets, or undefined when it names a host. */
export function literalAddress(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return ipaddr.isValid(host) ? host : undefined;
}
