import { mountFile } from "../../../../test/harness/mounted-file";
import { startCore, TOKENS } from "../../../../test/harness/processes";
import { textEvent } from "../../../../test/harness/service";
import { sharedService } from "../../../../test/harness/shared-service";
import { typeIn } from "../../../../test/harness/followers";
import { until } from "../../../../test/harness/wait";
import { OutboundEvent } from "../../../../proto/gen/chatbridge/v1/game";
import { readGameSettings } from "../../settings";
import { closeLinks, followWithLink } from "./follow-with-link";

const NEW = "the-new-token-of-the-game";
const service = sharedService();

test("a game whose token file changes follows and publishes, before and after core accepts the new token", async () => {
  const workspace = await service.workspaces.make();
  const tokens = (game: string): string => `game=${game}\nedge=${TOKENS.edge}\noperator=${TOKENS.operator}`;
  const [coreFile, gameFile] = [mountFile(tokens(TOKENS.game)), mountFile(TOKENS.game)];
  const core = await startCore(service.redis.url, { CORE_TOKENS: "", CORE_TOKENS_FILE: coreFile.path });
  try {
    const settings = readGameSettings("dice", { CORE_TOKEN_FILE: gameFile.path });
    const { link, log, reopened, sees } = followWithLink(core.port, {
      token: settings.core.token,
      tokenFile: settings.core.tokenFile,
    });
    const publish = () => link.publish([OutboundEvent.create(textEvent(workspace.id, "hello"))]);
    const logged = (text: string) =>
      until(`the line "${text}"`, () => log.lines.some(({ message }) => message.startsWith(text)));
    await reopened(1);
    gameFile.swap(NEW);
    await logged("the token was read again");
    // Core rejects the new token, so the game uses the previous token.
    expect((await publish())[0]?.outcome?.$case).toBe("published");
    coreFile.swap(tokens(NEW));
    await reopened(2);
    expect((await publish())[0]?.outcome?.$case).toBe("published");
    await typeIn(service.url, workspace, "after the change");
    await sees(1);
    expect(log.lines.filter(({ level }) => level === "error")).toEqual([]);
  } finally {
    await closeLinks();
    await core.stop();
    for (const file of [coreFile, gameFile]) file.remove();
  }
});
