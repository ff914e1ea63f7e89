import { existsSync, readFileSync, statfsSync } from "node:fs";
import { totalmem } from "node:os";
import type { Prompter } from "../../runtime/prompter";
import * as answers from "./answers";
import type { SetupAnswers } from "./answers";
import type { KnownFiles } from "./known-files";
import { findProgram } from "./machine";
import { PATHS } from "./paths";

/** The options of `setup` that answer questions, as commander returns them. */
export interface AnswerOptions {
  readonly hooks?: string;
  readonly dashboard?: string;
  readonly proxy?: string;
  readonly certificates?: string;
  readonly smtpUrlFile?: string;
  readonly mailFrom?: string;
  readonly redisMemory?: string;
  readonly redisPort?: string;
  readonly games?: string;
}

interface Question<T> {
  /** The name of the option. */
  readonly option: string;
  /** The question for the user. */
  readonly what: string;
  readonly given: string | undefined;
  /** The default answer; undefined if the user must give an answer. */
  readonly standard: string | undefined;
  /**
   * The value from an earlier run, and the path of its file. Only the user may change the value, by editing this file.
   */
  readonly known?: { readonly value: string; readonly path: string } | undefined;
  /** Whether the terminal hides the typed answer. */
  readonly isHidden?: boolean;
  /** Whether `setup` asks the user; by default true. If false, only the option can change the default. */
  readonly isAsked?: boolean;
  parse(text: string): T;
}

/** Thrown with one line for each missing or invalid answer. */
export class InvalidAnswers extends Error {
  override readonly name = "InvalidAnswers";
  constructor(readonly faults: readonly string[]) {
    super(faults.join("\n"));
  }
}

/** Collects answers from options, and from the user if there is a prompter. */
export class Questions {
  readonly #faults: string[] = [];
  readonly #prompter: Prompter | undefined;
  readonly #tell: (line: string) => void;

  constructor(prompter: Prompter | undefined, tell: (line: string) => void) {
    this.#prompter = prompter;
    this.#tell = tell;
  }

  /**
   * Resolves to the answer. If the answer is missing or invalid, adds a fault and resolves to undefined. Rejects with
   * `Interrupted`.
   */
  async ask<T>(question: Question<T>): Promise<T | undefined> {
    const { what, given, standard, known, isHidden = false, isAsked = true } = question;
    if (known !== undefined) return this.#readKnown(question, known);
    if (given !== undefined || this.#prompter === undefined || !isAsked) {
      return this.#read(question, given ?? standard);
    }
    const hint = standard === undefined ? "" : ` [${standard === "" ? "none" : standard}]`;
    for (;;) {
      const typed = (await this.#prompter.ask(`${what}${hint}: `, isHidden)).trim() || standard;
      if (typed === undefined) continue;
      try {
        return question.parse(typed);
      } catch (error) {
        this.#tell(`  ${typed} ${(error as Error).message}`);
      }
    }
  }

  /** Throws `InvalidAnswers` if any answer was missing or invalid. */
  check(): void {
    if (this.#faults.length > 0) throw new InvalidAnswers(this.#faults);
  }

  #readKnown<T>(question: Question<T>, { value, path }: NonNullable<Question<T>["known"]>): T | undefined {
    const { option, given } = question;
    const parsed = this.#read(question, value);
    if (given !== undefined && this.#read(question, given) !== parsed) {
      this.#faults.push(
        `${option} differs from ${path}: change the value in that file, and run setup again without ${option}`,
      );
    }
    return parsed;
  }

  #read<T>({ option, what, parse }: Question<T>, text: string | undefined): T | undefined {
    try {
      if (text !== undefined) return parse(text);
      this.#faults.push(`${option} is missing: ${what}`);
    } catch (error) {
      this.#faults.push(`${option} ${(error as Error).message}: ${what}`);
    }
    return undefined;
  }
}

/**
 * Resolves to the answers. The defaults are the values of an earlier run, or are derived from the machine. Without a
 * prompter, throws `InvalidAnswers` if an answer is missing or invalid.
 */
export async function collectAnswers(
  options: AnswerOptions,
  files: KnownFiles,
  questions: Questions,
): Promise<SetupAnswers> {
  const hosts = await askHosts(options, files, questions);
  const proxy = await askProxy(options, files, questions);
  const email = await askEmail(options, files, questions, hosts?.hooks ?? "");
  const redis = await askRedis(options, files, questions);
  const games = await questions.ask({
    option: "--games",
    what: "Names of games that get a token, separated by commas, e.g. trivia",
    given: options.games,
    standard: "",
    parse: answers.parseGames,
  });
  questions.check();
  return { ...hosts, ...proxy, ...email, ...redis, games: games ?? [] } as SetupAnswers;
}

const knownFrom = (value: string | undefined, path: string) =>
  value === undefined ? undefined : { value, path };
const hostOf = (url: string | undefined): string | undefined =>
  url !== undefined && URL.canParse(url) ? new URL(url).hostname : undefined;

async function askHosts(options: AnswerOptions, files: KnownFiles, questions: Questions) {
  const { BASE_URL: base, DASHBOARD_URL: dashboardUrl } = files.settings(PATHS.cliEnv);
  const hooks = await questions.ask({
    option: "--hooks",
    what: "Host name at which bridges reach the service, e.g. hooks.example.com",
    given: options.hooks,
    standard: undefined,
    known: knownFrom(hostOf(base), PATHS.cliEnv),
    parse: answers.parseHost,
  });
  const dashboard = await questions.ask({
    option: "--dashboard",
    what: "Host name of the dashboard",
    given: options.dashboard,
    standard: hooks === undefined ? undefined : answers.standardDashboard(hooks),
    known: knownFrom(hostOf(dashboardUrl), PATHS.cliEnv),
    parse(text) {
      const host = answers.parseHost(text);
      if (host === hooks) throw new Error("must differ from the host name for bridges");
      return host;
    },
  });
  return { hooks, dashboard };
}

async function askProxy(options: AnswerOptions, files: KnownFiles, questions: Questions) {
  const proxy = await questions.ask({
    option: "--proxy",
    what: "Proxy with TLS on this machine (caddy, nginx or none)",
    given: options.proxy,
    standard: knownProxy(files),
    parse: answers.parseProxy,
  });
  const certificates =
    proxy === "none"
      ? { kind: "letsencrypt" as const }
      : await questions.ask({
          option: "--certificates",
          what: "Certificates: letsencrypt, internal (Caddy's own, for trials), or <chain.pem>,<key.pem>",
          given: options.certificates,
          standard: knownCertificates(files),
          parse(text) {
            const parsed = answers.parseCertificates(text);
            if (parsed.kind === "internal" && proxy === "nginx")
              throw new Error("is only possible with caddy");
            return parsed;
          },
        });
  return { proxy, certificates };
}

/** Returns the proxy from an earlier run, or else the installed proxy. */
function knownProxy(files: KnownFiles): string {
  if (files.read(PATHS.caddyfile) !== undefined) return "caddy";
  if (files.read(PATHS.nginxConf) !== undefined) return "nginx";
  if (files.read(PATHS.coreEnv) !== undefined) return "none";
  return findProgram("caddy") === undefined && findProgram("nginx") !== undefined ? "nginx" : "caddy";
}

/** Returns the certificates of an earlier run. */
function knownCertificates(files: KnownFiles): string {
  const [, caddy] = /^\ttls (.+)$/m.exec(files.read(PATHS.caddyfile) ?? "") ?? [];
  if (caddy !== undefined) return caddy.replace(" ", ",");
  const nginx = files.read(PATHS.nginxConf) ?? "";
  const [, chain = ""] = /ssl_certificate (.+);/.exec(nginx) ?? [];
  const [, key = ""] = /ssl_certificate_key (.+);/.exec(nginx) ?? [];
  return chain === "" || chain.startsWith("/etc/letsencrypt/") ? "letsencrypt" : `${chain},${key}`;
}

async function askEmail(options: AnswerOptions, files: KnownFiles, questions: Questions, hooks: string) {
  const { SMTP_URL: knownUrl, MAIL_FROM: knownSender } = files.settings(PATHS.coreEnv);
  // A URL from an earlier run may contain a password, so `setup` neither shows the URL nor asks for it again.
  if (knownUrl !== undefined) return { smtpUrl: knownUrl, mailFrom: knownSender };
  const smtpUrl = await questions.ask({
    option: "--smtp-url-file",
    what: "URL of the mail server, smtp://user:password@host:port or smtps://… (not shown)",
    given: smtpFrom(options),
    standard: "",
    isHidden: true,
    parse: (text) => (text === "" ? "" : answers.parseSmtpUrl(text)),
  });
  if (smtpUrl === "" || smtpUrl === undefined) return { smtpUrl: undefined, mailFrom: undefined };
  const mailFrom = await questions.ask({
    option: "--mail-from",
    what: "Sender of emails",
    given: options.mailFrom,
    standard: `bridges@${hooks.replace(/^[^.]+\./, "")}`,
    parse: answers.parseSender,
  });
  return { smtpUrl, mailFrom };
}

/** Returns the URL of the mail server from the file that the option names, or from the environment. */
function smtpFrom({ smtpUrlFile }: AnswerOptions): string | undefined {
  if (smtpUrlFile === undefined) return process.env["SMTP_URL"];
  try {
    return readFileSync(smtpUrlFile, "utf8").trim();
  } catch (error) {
    throw new InvalidAnswers([`--smtp-url-file cannot be read: ${(error as Error).message}`]);
  }
}

/** Returns the number of free bytes on the disk that stores the data. */
function freeDisk(): number {
  const { bavail, bsize } = statfsSync(existsSync("/var/lib") ? "/var/lib" : "/");
  return bavail * bsize;
}

async function askRedis(options: AnswerOptions, files: KnownFiles, questions: Questions) {
  const conf = files.read(PATHS.redisConf) ?? "";
  const [, knownMemory] = /^maxmemory (\d+mb)$/m.exec(conf) ?? [];
  const [, knownPort] = /^port (\d+)$/m.exec(conf) ?? [];
  const redisMegabytes = await questions.ask({
    option: "--redis-memory",
    what: "Memory for the data of Redis (for a short time, Redis can use twice as much)",
    given: options.redisMemory,
    standard: `${answers.standardMegabytes(totalmem(), freeDisk())}mb`,
    known: knownFrom(knownMemory, PATHS.redisConf),
    parse: answers.parseMegabytes,
  });
  const redisPort = await questions.ask({
    option: "--redis-port",
    what: "Port of Redis on 127.0.0.1",
    given: options.redisPort,
    standard: "6379",
    known: knownFrom(knownPort, PATHS.redisConf),
    isAsked: false,
    parse: answers.parsePort,
  });
  return { redisMegabytes, redisPort };
}
