import { DELIVERY_RESULTS, type DeliveryResult } from "../contract/deliveries";
import { DeliveryResult as Code } from "./gen/chatbridge/v1/workspace";

/** The code of each delivery result. The name of a code is that of its result, in capitals. */
export const RESULT_CODES = Object.fromEntries(
  DELIVERY_RESULTS.map((result) => [
    result,
    Code[result.toUpperCase().replace("-", "_") as keyof typeof Code],
  ]),
) as Readonly<Record<DeliveryResult, Code>>;
