/**
 * The seconds of processor time that an action takes in this process. A test that shows that work stays in
 * proportion measures this and not the clock on the wall, which other work on the machine moves too.
 */
export function processorSeconds(action: () => void): number {
  const before = process.cpuUsage();
  action();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
