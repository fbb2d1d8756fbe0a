const INODE_BEFORE_NAME = 19;
const TYPE_BEFORE_NAME = 1;
const DT_DIR = 4;

/** The inode number that a listing (readNameBytes) gives for the name which starts here: struct linux_dirent64. Keeps the low 53 bits. */
export function listedInode(bytes: Buffer, start: number): number {
  const at = start - INODE_BEFORE_NAME;
  return (bytes.readUInt32LE(at + 4) & 0x1fffff) * 0x1_0000_0000 + bytes.readUInt32LE(at);
}

/** Whether a listing says that the name which starts here is a folder. Only where a file system tells kinds in listings. */
export function isListedFolder(bytes: Buffer, start: number): boolean {
  return bytes[start - TYPE_BEFORE_NAME] === DT_DIR;
}
