import type { Server } from "@grpc/grpc-js";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { ReflectionService } from "@grpc/reflection";
import { FILE_DESCRIPTOR_SET } from "../../proto/gen/descriptors";

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

/** The files of a FileDescriptorSet, which is nothing but a list of them in field 1. */
function splitFiles(set: Uint8Array): Buffer[] {
  const reader = new BinaryReader(set);
  const files: Buffer[] = [];
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1) files.push(Buffer.from(reader.bytes()));
    else reader.skip(wireType, field);
  }
  return files;
}
