/** The output of `chat-bridge-check --help`. */
export const HELP = `chat-bridge-check checks a bridge by acting as the service, or the service by acting as a bridge.

  chat-bridge-check --url <target URL> [--observe <URL>]
      Acts as the service: pushes valid, forged, repeated, reordered and expired events, events with
      a stale timestamp, and texts with all kinds of characters. Prints the rules that your bridge
      breaks, and how to fix the bridge.

  chat-bridge-check --poll [--listen <host:port>] [--observe <URL>]
      Acts as the service for a bridge that polls: prints a base URL and a workspace id, waits for the
      first poll, and answers polls with valid, forged, repeated and expired events, gaps, a 429, a 503
      and a dropped connection. Prints the rules that your bridge breaks, and how to fix the bridge.

  chat-bridge-check --service <base URL> --workspace <id> [--limits]
      Acts as a bridge: sends requests that the service must accept and requests that it must
      reject, and polls. Use a separate workspace: games see the accepted events.

All commands need the workspace's signing secret: --secret <secret>, or better the environment
variable SIGNING_SECRET, since other users of the machine can read command lines. While a secret
is rotated, give both secrets, the new secret first: --secret <new> --secret <old>.

For a bridge (--url or --poll):
  --observe <URL>     endpoint that answers a GET with 200 and the messages that your chat shows
                      now, oldest first:
                        {"messages":[{"channel":"c1","text":"hello"}]}
                      "channel" is dm:<user id> for a direct message. Optional fields are "to"
                      (the only user who sees the message, or null), "buttons" (the labels of all
                      rows, in order) and "image" (its URI as in the event, or null). A field that
                      you never give is not checked; if you give a field, it must be correct for
                      every message. If your chat cannot edit messages, add "edits":false beside
                      "messages". The text can be rendered, or be HTML, but must have the characters
                      that were sent. Without --observe, only the requests and answers of the bridge are
                      checked.
  --workspace <id>    workspace of the events; by default a random id
  --channel <id>      channel of the messages; by default chat-bridge-check
  --user <id>         user who gets ephemerals and DMs; by default chat-bridge-check-user
  --within <seconds>  time limit for showing a message; by default 10

For a bridge that receives pushes (--url):
  --answer-within <seconds>
                      time limit for answering a push; by default 5, as in the contract.
                      Raise the limit if the machine is too busy to answer within 5 seconds.

For a bridge that polls (--poll):
  --listen <host:port>
                      loopback address of the check; by default 127.0.0.1:9100
  --wait <seconds>    time limit for the first poll; by default 120
  Start the bridge without a saved cursor, and not with the files of a bridge in use: the cursors of
  the check are not valid for the service. A check takes about 35 seconds. If the bridge sends events
  meanwhile, such as commands, the check judges them too, and answers the first event with a 503.

For the service (--service):
  --limits            also exceed both rate limits, with thousands of requests: for a second or two,
                      the service rejects other requests for the workspace and from your address

For all:
  --only <rule,…>     check only these rules, and the rules that all others need
  --list              list all rules; with --url, --poll or --service, only the rules of that side
  --json              print the result as JSON
  --ca <file>         trust this certificate (PEM), such as a self-signed one
  --insecure-loopback trust any certificate of a loopback address
  --help              print this page
  --version           print the version

http:// is accepted for loopback addresses only: the service pushes only to public HTTPS addresses.
The result of a rule is "ok", "FAILED", "partly" (the part that was checked is not broken; the report
says what was not checked), "not reached" (there was no connection) or "skipped" (another rule must
pass first).

On a terminal, the results are in colour. NO_COLOR=1 turns colour off, and FORCE_COLOR=1 turns it on.

Exit code: 0 when no rule is broken, 1 when a rule is broken, 2 when the command is invalid, 69 when
an address is unreachable, nothing polls or --listen is in use, 70 when the check itself fails, and
141 when the reader of the output has closed the pipe.

Examples: SIGNING_SECRET=… chat-bridge-check --url http://localhost:9000/events
          SIGNING_SECRET=… chat-bridge-check --poll --observe http://localhost:9000/observe
`;
