import type { Server } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { FILE_DESCRIPTOR_SET } from "../../proto/gen/descriptors";
import { eachField, WireReader } from "./wire-fields";

/** Adds server reflection, from the very descriptors that buf made of the protos. */
export function addReflection(server: Server): void {
  // The library reads nothing of a package definition but these bytes.
  const definition = {
    protos: { fileDescriptorProtos: splitFiles(Buffer.from(FILE_DESCRIPTOR_SET, "base64")) },
  };
  const reflection = new ReflectionService(
    definition as unknown as ConstructorParameters<typeof ReflectionService>[0],
  );
  reflection.addToServer(server);
}

/** The files of a FileDescriptorSet, which is nothing but a list of them. */
function splitFiles(set: Buffer): Buffer[] {
  const files: Buffer[] = [];
  const reader = new WireReader(set);
  eachField(reader, set.length, (_tag, end) => void files.push(set.subarray(reader.pos, end)));
  return files;
}
