import { certificateAdvice, isLoopback, type BridgeInit, type Finding } from "chat-bridge-runner";
import type { WantedChannel } from "./connection/channel-list";
import { NICK_REJECTED, ServerProbe } from "./connection/server-probe";
import type { IRC_SETTINGS, IrcSettings } from "./irc-settings";

/** The questions and the check of `chat-bridge-irc init`. */
export const IRC_INIT: BridgeInit<typeof IRC_SETTINGS> = {
  questions: [
    { name: "IRC_HOST" },
    { name: "IRC_TLS" },
    { name: "IRC_PORT", standard: ({ IRC_TLS: tls }) => (tls === "off" ? "6667" : undefined) },
    { name: "IRC_NICK" },
    { name: "IRC_CHANNELS", isRequired: true },
    { name: "IRC_SASL" },
    { name: "IRC_SASL_ACCOUNT", isRequired: true, isNeeded: ({ IRC_SASL: sasl }) => sasl === "plain" },
    { name: "IRC_SASL_PASSWORD", isRequired: true, isNeeded: ({ IRC_SASL: sasl }) => sasl === "plain" },
    { name: "IRC_CERT", isRequired: true, isNeeded: ({ IRC_SASL: sasl }) => sasl === "external" },
    { name: "IRC_KEY", isRequired: true, isNeeded: ({ IRC_SASL: sasl }) => sasl === "external" },
  ],
  check: checkIrc,
};

/** Advice about a rejected `JOIN`. Keyed by numeric reply. */
const JOIN_ADVICE: Readonly<Record<string, (channel: string, nick: string) => string>> = {
  "471": () => "the channel is full (+l): raise its limit",
  "473": (channel, nick) =>
    `only invited users may join (+i): while the bridge runs, an operator must type /invite ${nick} ${channel}`,
  "474": (channel) => `the bridge is banned (+b): an operator must remove the ban: see /mode ${channel} +b`,
  "475": (channel) => `the channel needs a key (+k): give it after the name, e.g. ${channel} key`,
  "477": () => "only registered users may join: register the nick, and set IRC_SASL=plain",
};

/** Connects like the bridge, joins each channel, and checks whether the bridge may speak. Yields each finding. */
async function* checkIrc(settings: IrcSettings): AsyncGenerator<Finding> {
  const { IRC_HOST: host, IRC_PORT: port, IRC_TLS: isEncrypted, IRC_NICK: nick } = settings;
  if (!isEncrypted && !isLoopback(host)) {
    yield {
      is: "note",
      text: "IRC_TLS=off: everybody on the network path can read and change what the bridge sends",
    };
  }
  const probe = new ServerProbe(settings);
  try {
    const rejection = await probe.connect();
    const login = settings.IRC_SASL === "off" ? "" : ", and logged in with SASL";
    yield { is: "ok", text: `connected to ${host}:${port}${isEncrypted ? " with TLS" : ""}${login}` };
    yield rejection === undefined
      ? { is: "ok", text: `the nick ${nick} is free` }
      : rejectedNick(nick, rejection);
    for (const channel of settings.IRC_CHANNELS) yield await checkChannel(probe, channel, nick);
  } catch (error) {
    const { message } = error as Error;
    yield {
      is: "problem",
      text: `cannot connect to ${host}:${port}: ${message}`,
      advice: connectionAdvice(message),
    };
  } finally {
    await probe.close();
  }
}

function rejectedNick(nick: string, { command, reason }: { command: string; reason: string }): Finding {
  const advice =
    command === NICK_REJECTED.inUse
      ? `the bridge would join as ${nick}_: choose another IRC_NICK, or stop the bridge or client that uses this nick`
      : "choose another IRC_NICK";
  return { is: "problem", text: `the server does not accept the nick ${nick}: ${reason}`, advice: [advice] };
}

async function checkChannel(probe: ServerProbe, channel: WantedChannel, nick: string): Promise<Finding> {
  const { name } = channel;
  const joined = await probe.join(channel);
  if ("rejectedBy" in joined) {
    const { rejectedBy, reason } = joined;
    const advice =
      JOIN_ADVICE[rejectedBy]?.(name, nick) ?? "ask the operators of the channel or of the server";
    return { is: "problem", text: `cannot join ${name}: ${reason}`, advice: [advice] };
  }
  if (joined.mayAlwaysSpeak) return { is: "ok", text: `joined ${name}, and may speak` };
  if (!(await probe.modesOf(name)).includes("m")) return { is: "ok", text: `joined ${name}, and may speak` };
  return {
    is: "problem",
    text: `joined ${name}, but the channel is moderated (+m), and the bridge may not speak`,
    advice: [
      `while the bridge runs, an operator must type /mode ${name} +v ${nick}, or give the bridge voice permanently`,
    ],
  };
}

function connectionAdvice(problem: string): readonly string[] {
  if (/SASL/.test(problem))
    return ["check IRC_SASL_ACCOUNT and its password, and that the account is registered"];
  if (/IRC_PASSWORD/.test(problem)) return ["check IRC_PASSWORD, the password of the server"];
  const ofCertificate = certificateAdvice(problem, "IRC_CA");
  if (ofCertificate !== undefined) return [ofCertificate];
  if (/wrong version|no answer|hang up|disconnected before/i.test(problem)) {
    return ["the port may not be a TLS port: use 6697, or set IRC_TLS=off in a trusted network only"];
  }
  return ["check IRC_HOST and IRC_PORT, and that the server is running"];
}
