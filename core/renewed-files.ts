import { createSecureContext, rootCertificates } from "node:tls";
import type { Logger } from "pino";
import { Certificates, checkCertificates, expiryOf } from "../runtime/certificates";
import { FileWatch } from "../runtime/file-watch";
import type { NamedFile } from "../runtime/read-file";
import type { CoreConfig, ServerTls } from "./config";
import { AcceptedTokens } from "./rpc/accepted-tokens";

export type RenewedFiles = ReturnType<typeof watchFiles>;

/** Reads core's files of tokens and certificates again when they change, and keeps their current contents. */
export function watchFiles(config: CoreConfig, log: Logger) {
  const watch = new FileWatch(log);
  /**
   * The Unix time in seconds at which the first certificate of each file expires, by the name of the file's setting.
   */
  const expiries = new Map<string, number>();

  function use(setting: string, pem: Buffer | undefined): void {
    const atMs = pem === undefined ? undefined : expiryOf(pem);
    if (atMs === undefined) expiries.delete(setting);
    else expiries.set(setting, Math.floor(atMs / 1_000));
  }
  function useRoot(file: NamedFile | undefined, then: (pem: Buffer) => void): void {
    if (file === undefined) return;
    use(file.setting, file.bytes);
    watch.add({ files: [file], parse: parseRoot }, (pem) => {
      use(file.setting, pem);
      then(pem);
      log.info({ files: [file.setting] }, CERTIFICATES_READ);
    });
  }
  function useTls({ cert, key, clientCa }: ServerTls): { cert: Buffer; key: Buffer; ca: Buffer | undefined } {
    use("CORE_TLS_CERT", cert);
    use("CORE_TLS_CLIENT_CA", clientCa);
    return { cert, key, ca: clientCa };
  }

  const tls = config.tls && new Certificates(useTls(config.tls));
  watch.add(config.tlsFiles, (files) => {
    tls?.replace(useTls(files));
    log.info({ files: config.tlsFiles?.files.map(({ setting }) => setting) }, CERTIFICATES_READ);
  });
  const redisRoots = config.redisCa && [config.redisCa.bytes];
  useRoot(config.redisCa, (pem) => redisRoots?.splice(0, 1, pem));
  let pushContext = contextWith(config.pushCa?.bytes);
  useRoot(config.pushCa, (pem) => (pushContext = contextWith(pem)));

  return {
    tokens: watchTokens(watch, config, log),
    /** The certificates of core's listener; undefined without TLS. */
    tls,
    /**
     * Additional roots for Redis. A changed file replaces the element of this list, and new connections use the current
     * element.
     */
    redisRoots,
    /** Returns the roots to trust for bridges. */
    pushContext: () => pushContext,
    /** Returns the times at which the certificates of each file expire, as samples of a metric. */
    expiries: () => [...expiries].map(([file, value]) => ({ labels: { file }, value })),
    /** The number of files that were changed, but could not be read again. */
    faults: () => watch.faults,
    close: () => watch.close(),
  };
}

const CERTIFICATES_READ =
  "certificates were read again: new connections use them, and open connections stay open";

function watchTokens(watch: FileWatch, config: CoreConfig, log: Logger): AcceptedTokens {
  const tokens = new AcceptedTokens(config.tokens);
  if (config.tokens.length === 0)
    log.warn(
      "core has no tokens, and rejects every call except health checks: set CORE_TOKENS or CORE_TOKENS_FILE",
    );
  watch.add(config.tokensFile, (read) => {
    const { tokens: count, added, removed } = tokens.replace(read);
    log.info(
      { added, removed },
      `tokens were read again: ${count} tokens, ${added.length} added, ${removed.length} removed`,
    );
  });
  return tokens;
}

function parseRoot([pem]: readonly Buffer[]): Buffer {
  if (pem === undefined) throw new Error("is missing");
  checkCertificates({ ca: pem }, Date.now());
  return pem;
}

/** Returns Node's roots and an additional root. */
function contextWith(pem: Buffer | undefined) {
  return createSecureContext({ ca: pem === undefined ? [...rootCertificates] : [...rootCertificates, pem] });
}
