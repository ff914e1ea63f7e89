import type { Logger } from "pino";
import { FileWatch } from "../runtime/file-watch";
import type { CoreConfig } from "./config";
import { AcceptedTokens } from "./rpc/accepted-tokens";

/** Reads core's files of tokens again when they change. */
export function watchFiles(config: CoreConfig, log: Logger) {
  const watch = new FileWatch(log);
  const tokens = new AcceptedTokens(config.tokens);
  if (config.tokens.length === 0)
    log.warn("CORE_TOKENS is empty: core rejects every call except health checks; set CORE_TOKENS");
  watch.add(config.tokensFile, (read) => {
    const { tokens: count, added, removed } = tokens.replace(read);
    log.info(
      { added, removed },
      `tokens were read again: ${count} tokens, ${added.length} added, ${removed.length} removed`,
    );
  });
  return {
    tokens,
    /** The number of files that were changed, but could not be read again. */
    faults: () => watch.faults,
    close: () => watch.close(),
  };
}
