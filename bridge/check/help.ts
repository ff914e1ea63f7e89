/** What `chat-bridge-check --help` prints. */
export const HELP = `chat-bridge-check checks one side of the chat-bridge contract from the other side.

  chat-bridge-check --url <target URL> [--observe <URL>]
      Acts as the service: pushes events to your bridge, good, forged, old, repeated, out of
      order and expired, and says which rules the answers break, and what to mend.

  chat-bridge-check --service <base URL> --workspace <id> [--limits]
      Acts as a bridge: sends the service what it must accept and what it must refuse, and polls.
      Use a workspace of its own: games see the events that are accepted.

Both need the workspace's signing secret: --secret <secret>, or better the environment variable
SIGNING_SECRET, since other users of the machine can read command lines. While a secret is
rotated give both, the new one first: --secret <new> --secret <old>.

For a bridge (--url):
  --observe <URL>     a GET there answers 200 with what your chat shows now, oldest first:
                        {"messages":[{"channel":"c1","text":"hello"}]}
                      "channel" is dm:<user id> for a direct message. Optional are "to" (the user
                      who alone sees it, or null), "buttons" (the labels of all rows, in order)
                      and "image" (its URI as in the event, or null): a field that you never give
                      is not judged, one that you do must be right for every message.
                      Without it nothing that a bridge shows can be judged.
  --workspace <id>    the workspace that the events are of; made up when left out
  --channel <id>      where messages are posted: chat-bridge-check
  --user <id>         who gets ephemerals and DMs: chat-bridge-check-user
  --within <seconds>  how long a message may take to be shown: 10
  --answer-within <seconds>
                      how long a push may take to be answered: 5, as the service waits. Give more
                      where the machine that runs both is too busy for the contract's 5.

For the service (--service):
  --limits            also go over both rate limits, with thousands of requests: the workspace
                      and all that share your address are refused for a second or two

For both:
  --only <rule,…>     only these rules; those that all others need are always checked
  --list              list the rules, with --url or --service for one side alone
  --json              print the result as JSON
  --ca <file>         trust this certificate (PEM), such as one that you signed yourself
  --insecure-loopback trust any certificate of a loopback address
  --help              this page

http:// is taken for loopback addresses only: the service itself pushes to public HTTPS alone.
A rule is "ok", "FAILED", "unseen" (right as far as it can be seen from here; the line says what
cannot), "not reached" (there was no connection) or "skipped" (another rule has to hold first).

Exit code: 0 when no rule is broken, 1 when one is, 2 when the command is wrong, 69 when there was
no connection to what is to be checked, 70 when the check itself has a fault, and 141 when the
reader of the output has closed it.

Example: SIGNING_SECRET=… chat-bridge-check --url http://localhost:9000/events
`;
