import type { Exchange } from "../shapes";

/** Returns a short summary: the number of polled events, or the type of the reported or pushed event. */
export function gist({ what, request, answer, failure }: Exchange): string {
  if (what === "poll") {
    if (answer === null) return failure ?? "";
    if (answer.status !== 200) return "failed";
    const events = answer.body.match(/"id":"evt_/g)?.length ?? 0;
    return events === 0 ? "no events" : events === 1 ? "1 event" : `${events} events`;
  }
  return /"type":"([a-z.]+)"/.exec(request.body)?.[1] ?? "";
}
