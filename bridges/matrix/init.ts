import {
  certificateAdvice,
  isLoopback,
  type Answers,
  type BridgeInit,
  type Finding,
} from "chat-bridge-runner";
import { AccountProbe, type Account, type RateLimit } from "./client/account-probe";
import { findHomeserver } from "./client/find-homeserver";
import { MatrixError } from "./client/matrix-error";
import type { MATRIX_SETTINGS, MatrixSettings } from "./settings";

const hasSecret = (answers: Answers, name: string): boolean => name in answers || `${name}_FILE` in answers;
const hasNoToken = (answers: Answers): boolean => !hasSecret(answers, "MATRIX_ACCESS_TOKEN");

/** The answer to the question about the account that selects an access token instead. */
const NO_USER = "-";

/** The questions and the check of `chat-bridge-matrix init`. */
export const MATRIX_INIT: BridgeInit<typeof MATRIX_SETTINGS> = {
  questions: [
    {
      name: "MATRIX_HOMESERVER",
      what: "name of the homeserver, e.g. example.org, or the URL of its client API",
      resolve: findHomeserver,
    },
    {
      name: "MATRIX_USER",
      what: `name of the bridge's account, e.g. games, or ${NO_USER} to use an access token`,
      isNeeded: hasNoToken,
      // If the question is asked again, the earlier answer is the default, so an empty answer could not remove it.
      resolve: async (answer) => (answer === NO_USER ? "" : answer),
    },
    {
      name: "MATRIX_PASSWORD",
      isRequired: true,
      isNeeded: (answers) => "MATRIX_USER" in answers && hasNoToken(answers),
    },
    {
      name: "MATRIX_ACCESS_TOKEN",
      what: "access token of the bridge's account",
      isRequired: true,
      isNeeded: (answers) => !hasSecret(answers, "MATRIX_PASSWORD") || !hasNoToken(answers),
    },
  ],
  check: checkMatrix,
  additions: ({ BASE_URL: service = "" }) =>
    URL.canParse(service) && isLoopback(new URL(service).hostname)
      ? [
          {
            name: "MATRIX_IMAGE_ALLOW",
            value: "127.0.0.0/8,::1/128",
            why: "the images of games on this machine can be fetched",
          },
        ]
      : [],
};

/** Number of events that a question with four choices consists of. */
const EVENTS_OF_QUESTION = 5;

/** Logs in, and checks what the account may do. Yields each finding. */
async function* checkMatrix(settings: MatrixSettings): AsyncGenerator<Finding> {
  const { MATRIX_HOMESERVER: homeserver, MATRIX_ACCESS_TOKEN: token } = settings;
  const { hostname, protocol } = new URL(homeserver);
  if (protocol === "http:" && !isLoopback(hostname)) {
    yield {
      is: "note",
      text: "MATRIX_HOMESERVER begins with http://: the access token is sent without encryption",
    };
  }
  const probe = new AccountProbe(homeserver, token);
  try {
    if (token === undefined) await probe.logIn(settings.MATRIX_USER ?? "", settings.MATRIX_PASSWORD ?? "");
    const account = await probe.account();
    yield { is: "ok", text: `logged in to ${homeserver} as ${account.userId}` };
    yield kindOf(account);
    yield { is: "note", text: "measuring the rate limit of the account, which takes up to 20 seconds" };
    yield await speedOf(probe, homeserver, account.userId);
    yield invitationOf(account, settings.MATRIX_ENCRYPTION);
  } catch (error) {
    yield {
      is: "problem",
      text: `cannot log in to ${homeserver}: ${(error as Error).message}`,
      advice: loginAdvice(error, token),
    };
  } finally {
    await probe.close().catch(() => undefined);
  }
}

function kindOf({ isGuest, isAdministrator, userId }: Account): Finding {
  if (isGuest)
    return { is: "problem", text: `${userId} is a guest`, advice: ["register an ordinary account"] };
  if (isAdministrator !== true) return { is: "ok", text: "the account is an ordinary account" };
  const advice = [
    "use an ordinary account, because the bridge keeps a token of the account in its state folder",
  ];
  return { is: "note", text: `${userId} is an administrator of the homeserver`, advice };
}

function invitationOf({ rooms, userId }: Account, isEncrypted: boolean): Finding {
  const text =
    rooms === 0
      ? "the account is in no room yet"
      : `the account is in ${rooms} room${rooms === 1 ? "" : "s"}`;
  const room = isEncrypted ? "a room" : "a room without encryption";
  return { is: "ok", text: `${text}: invite ${userId} to ${room}` };
}

async function speedOf(probe: AccountProbe, homeserver: string, userId: string): Promise<Finding> {
  let limit: RateLimit | undefined;
  try {
    limit = await probe.rateLimit();
  } catch (error) {
    const isForbidden = error instanceof MatrixError && error.status === 403;
    const advice = isForbidden
      ? ["without the right to create rooms, the bridge cannot send direct messages"]
      : [];
    return { is: "note", text: `the rate limit was not measured: ${(error as Error).message}`, advice };
  }
  if (limit === undefined) return { is: "ok", text: "the account may send messages as fast as a game needs" };
  const { atOnce, perSecond } = limit;
  const speed =
    perSecond === 0 ? "then rejects messages for some time" : `then ${perSecond.toFixed(1)} in each second`;
  if (perSecond >= EVENTS_OF_QUESTION) {
    return { is: "ok", text: `the homeserver accepts ${atOnce} messages at once, ${speed}` };
  }
  const user = encodeURIComponent(userId);
  return {
    is: "note",
    text: `the homeserver accepts ${atOnce} messages at once, ${speed}; a question with four choices consists of ${EVENTS_OF_QUESTION}`,
    advice: [
      "if you run the Synapse server, lift the limit of the account with an administrator's token:",
      `  curl -X POST -H "Authorization: Bearer $ADMIN_TOKEN" -d '{"messages_per_second":0,"burst_count":0}' '${homeserver}/_synapse/admin/v1/users/${user}/override_ratelimit'`,
      "this command prints the access_token of an administrator:",
      `  curl -X POST -d '{"type":"m.login.password","identifier":{"type":"m.id.user","user":"admin"},"password":"…"}' '${homeserver}/_matrix/client/v3/login'`,
      "otherwise, games are slow, and some messages are late",
    ],
  };
}

function loginAdvice(error: unknown, token: string | undefined): readonly string[] {
  const ofCertificate =
    error instanceof MatrixError
      ? undefined
      : certificateAdvice((error as Error).message, "NODE_EXTRA_CA_CERTS");
  if (ofCertificate !== undefined) return [ofCertificate];
  if (!(error instanceof MatrixError)) return ["check MATRIX_HOMESERVER, and that the homeserver is running"];
  if (error.isRateLimit) {
    const seconds = Math.ceil(error.retryAfterMs / 1_000);
    return [
      `the homeserver limits logins: try again in ${seconds > 0 ? `${seconds} seconds` : "a few minutes"}`,
    ];
  }
  return [token === undefined ? "check MATRIX_USER and MATRIX_PASSWORD" : "check MATRIX_ACCESS_TOKEN"];
}
