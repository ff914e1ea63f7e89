import { parseTargetUrl } from "../domain/target-url";
import type { TargetUrlCheck } from "../ports/outside";
import { findPublicAddresses, type PublicHostOptions } from "./public-host";

/** Checks a target URL when it is set. Each connection checks the addresses again. */
export function createTargetUrlCheck(options: PublicHostOptions): TargetUrlCheck {
  return {
    async findFault(text) {
      const url = parseTargetUrl(text);
      if (typeof url === "string") return url;
      const found = await findPublicAddresses(options, url);
      return "failure" in found ? found.detail : undefined;
    },
  };
}
