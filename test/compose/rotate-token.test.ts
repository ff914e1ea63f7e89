import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { status } from "@grpc/grpc-js";
import { removeOldToken, rotateToken, writeSecrets } from "../../deploy/compose/secrets";
import { call, connectToCore } from "../harness/core-clients";
import { startCore, startEdge } from "../harness/processes";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";
import { expectRejected } from "../harness/workspace-api";

const service = sharedService();
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cb-rotate-"));
  for (const name of ["kept", "redis", "core", "edge", "game", "operator", "grafana"]) {
    mkdirSync(join(folder, name));
  }
  writeSecrets(folder);
});
afterEach(() => rmSync(folder, { recursive: true }));

const read = (path: string): string => readFileSync(join(folder, path), "utf8").trim();
const operatorToken = (): string =>
  (JSON.parse(read("operator/tokens.json")) as { tokens: { operator: string } }).tokens.operator;

test("rotate-token replaces the tokens of running containers, and remove-old-token invalidates the previous tokens", async () => {
  const core = await startCore(service.redis.url, {
    CORE_TOKENS: "",
    CORE_TOKENS_FILE: join(folder, "core/tokens"),
  });
  const edge = await startEdge(core.port, { CORE_TOKEN: "", CORE_TOKEN_FILE: join(folder, "edge/token") });
  const { workspaces, close } = connectToCore(core.port);
  const list = (token: string) => call(workspaces, workspaces.countWorkspaces, {}, token);
  const reads = (count: number) =>
    until(
      `core has read its tokens ${count} times`,
      () => core.log.filter(({ msg }) => String(msg).startsWith("tokens were read again")).length >= count,
    );
  const [operator, ofEdge] = [operatorToken(), read("edge/token")];
  for (const role of ["operator", "edge"]) rotateToken(folder, role);
  expect(operatorToken()).not.toBe(operator);
  expect(read("edge/token")).not.toBe(ofEdge);
  await reads(1);
  await Promise.all([list(operator), list(operatorToken())]);
  await until("the edge uses its new token", () =>
    edge.log.some(({ msg }) => msg === "core accepts the new token of CORE_TOKEN_FILE"),
  );
  expect(() => rotateToken(folder, "edge")).toThrow("first run remove-old-token edge");
  for (const role of ["operator", "edge"]) removeOldToken(folder, role);
  await reads(2);
  await list(operatorToken());
  await expectRejected(list(operator), status.UNAUTHENTICATED, /unknown/);
  expect(read("core/tokens")).not.toContain(ofEdge);
  close();
  await edge.stop();
  await core.stop();
});

test("only known roles can be rotated, and the files of the tokens stay private", () => {
  for (const role of [undefined, "king"]) {
    expect(() => rotateToken(folder, role)).toThrow("give one of edge, game, operator");
  }
  expect(() => removeOldToken(folder, "game")).toThrow("the role game has no previous token");
  rotateToken(folder, "game");
  for (const file of ["core/tokens", "game/token", "kept/settings.json"]) {
    expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
  }
});
