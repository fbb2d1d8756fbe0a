import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ACTORS, Stage } from "./stage.ts";

/**
 * What a hostile command tries. Each line must fail; one that works says so. Tried by root, it is tried with
 * all the rights that root has inside.
 */
const ATTEMPTS: { readonly [what: string]: string } = {
  "unmount what hides": `umount "$STATE" || umount -l "$STATE"`,
  "unmount the sandbox": `cd / && umount -l "$PROJECT"`,
  "mount the disk": `mkdir -p m && mount "$DISK" m`,
  "bind the outside": "mkdir -p m && mount --bind / m",
  "remount the root writable": "mount -o remount,rw /",
  "remount the root writable as a bind": "mount -o remount,bind,rw /",
  "mount a tmpfs": "mkdir -p m && mount -t tmpfs none m",
  "enter the namespaces of process 1 of the host": "nsenter --target 1 --mount true",
  "unmount in a namespace of its own": `unshare --user --map-root-user --mount umount "$STATE"`,
  "unmount a parent in a namespace of its own": "unshare --user --map-root-user --mount umount -l /tmp",
  "remount in a namespace of its own": "unshare --user --map-root-user --mount mount -o remount,bind,rw /",
  "bind without the covers in a namespace of its own": `unshare --user --map-root-user --mount sh -c 'mkdir -p m; mount --bind / m && ls m"$0" | grep db' "$STATE"`,
  "mount another /proc in a namespace of its own, as root": `[ "$(id -u)" = 0 ] && unshare --user --map-root-user --mount --pid --fork sh -c 'mkdir -p m; mount -t proc p m && : > m/sys/kernel/panic_on_oops'`,
  "read the disk by a node of its own": "mknod disk b $DISK_NUMBERS && head -c 512 disk | grep -q .",
  "write the disk by a node of its own":
    "mknod disk b $DISK_NUMBERS && dd if=/dev/zero of=disk bs=1 count=0 conv=notrunc",
  "use a node in a scratch folder": "mknod ~/disk b $DISK_NUMBERS && head -c 1 ~/disk",
  "use a node in shared memory": "mknod /dev/shm/disk b $DISK_NUMBERS && head -c 1 /dev/shm/disk",
  "find a disk in /dev": `ls "$DISK"`,
  "read memory": "head -c 1 /dev/mem || head -c 1 /proc/kcore | grep -q .",
  "write /proc/sys": "cat /proc/sys/kernel/panic > /proc/sys/kernel/panic",
  "write /proc/sys by another way": "echo 0 > /proc/self/root/proc/sys/kernel/panic",
  "pull the trigger": "echo h > /proc/sysrq-trigger",
  "write /sys": "echo 1 > /sys/kernel/mm/ksm/run || echo 0 > /sys/module/kernel/parameters/panic",
  "make a control group": "mkdir /sys/fs/cgroup/pids/drydock-hostile || mkdir /sys/fs/cgroup/drydock-hostile",
  "see a process of the host": `[ -e "/proc/$HOST_PID/exe" ] && grep -q node "/proc/$HOST_PID/comm"`,
  "kill a process of the host": `kill -0 "$HOST_PID"`,
  "look through the root of a process of the host": `ls "/proc/$HOST_PID/root/" | grep -q .`,
  "look through the first process inside": `ls "/proc/1/root$STATE" | grep -q db`,
  "load a module": "modprobe loop || insmod /no-such-module.ko 2>&1 | grep -q 'No such file'",
  "change the host's name": 'hostname "$(hostname)"',
  "set the clock": 'date -s "$(date)"',
  "change the network": "ip link set lo up",
  "restart the machine":
    "[ \"$(id -u)\" = 0 ] && /usr/bin/perl -e 'exit(syscall(169, 0xfee1dead, 672274793, 0) == 0 ? 0 : 1)'",
  "open a file by its handle": `/usr/bin/perl "$PROJECT/handle.pl" /etc/passwd`,
  "break out of a chroot": `[ "$(id -u)" = 0 ] && /usr/bin/perl -e 'mkdir "c"; chroot "c"; chdir ".." for 1..64; chroot "."; exit(-e "$ENV{STATE}/drydock.db" ? 0 : 1)'`,
  "link a file of the outside into the resource": `ln /etc/passwd "$PROJECT/passwd"`,
  "write through a link that leads out": `ln -s "$OUTSIDE" out && echo hostile > out`,
  "write through ..": `echo hostile > "$PROJECT/../outside"`,
  "gain rights by a set-id program": `[ "$(id -u)" != 0 ] && su -c true < /dev/null`,
  "remove the original's folder": `rmdir "$PROJECT" || mv "$PROJECT" "$PROJECT.moved"`,
};

/** Opens a file by its handle on the root mount; fails where that is not allowed. */
const OPEN_BY_HANDLE = `
my $path = $ARGV[0]; my $handle = pack("Ii", 128, 0) . ("\\0" x 128); my $mount = pack("i", 0);
syscall(303, -100, $path, $handle, $mount, 0) == 0 or exit 1;
open(my $root, "<", "/") or exit 1;
exit(syscall(304, fileno($root), $handle, 0) >= 0 ? 0 : 1);
`;

for (const actor of ACTORS) {
  describe(`A hostile command, run by ${actor}`, () => {
    it("[X7] can't leave: no mount, no other namespace, no device, no process of the host, no way out", () => {
      using stage = new Stage(actor);
      const { disk, numbers } = rootDisk();
      writeFileSync(join(stage.project, "handle.pl"), OPEN_BY_HANDLE);
      stage.write("outside", "untouched\n");
      stage.give();
      const before = JSON.stringify([hostFacts(stage.path), readFileSync("/etc/passwd", "utf8")]);
      const lines = Object.entries(ATTEMPTS).map(
        ([what, script]) =>
          `( mkdir work; cd work; ${script} ) < /dev/null > /dev/null 2>&1 && echo "WORKED: ${what}"; rm -rf work`,
      );
      const env = {
        STATE: stage.state,
        PROJECT: stage.project,
        OUTSIDE: join(stage.path, "outside"),
        DISK: disk,
        DISK_NUMBERS: numbers,
        HOST_PID: String(process.pid),
      };
      const ran = stage.drydock(["run", "--keep", "--", "sh", "-c", `${lines.join("\n")}\necho done`], {
        env,
      });
      // What goes to a scratch layer is no way out: the files in the temporary folder around the project.
      const worked = ran.stdout.split("\n").filter((line) => !/write through/.test(line));
      assert.deepEqual(worked, ["done", ""], ran.stderr);
      assert.equal(stage.read("outside"), "untouched\n");
      assert.equal(JSON.stringify([hostFacts(stage.path), readFileSync("/etc/passwd", "utf8")]), before);
    });

    it("[X7] can't reach more with --strict", () => {
      using stage = new Stage(actor);
      const said = stage.insideDone(
        `find /run -type s; find / -xdev -maxdepth 3 -writable -not -path '/proc*' -not -path '/dev/*' -not -path '/tmp*' -not -path '/var/tmp*' -not -type l 2>/dev/null; true`,
        "--strict",
      );
      assert.equal(said, "");
    });

    it("makes set-id files and devices that do not land", () => {
      using stage = new Stage(actor);
      const script = "cp /bin/true mine; chmod 4755 mine; mknod device c 1 3; mkfifo pipe; true";
      const ran = stage.drydock(["run", "--apply", "--", "sh", "-c", script]);
      assert.equal(ran.status, 0, ran.stderr);
      assert.equal(statSync(join(stage.project, "mine")).mode & 0o7777, 0o755);
      assert.ok(!existsSync(join(stage.project, "device")));
    });

    it("starts many processes, makes deep folders and many files: all of it goes", () => {
      using stage = new Stage(actor);
      const script = `
        for i in $(seq 100); do sleep 1000 & done
        for i in $(seq 200); do mkdir d && cd d; done; cd /
        mkdir -p ~/many && cd ~/many && seq 2000 | xargs touch
        head -c 20000000 /dev/zero > /tmp/large`;
      const ran = stage.drydock(["run", "--keep", "--", "sh", "-c", script]);
      assert.equal(ran.status, 0, ran.stderr);
      assert.match(ran.stderr, /also wrote 2001 files outside the plan/);
      const plan = stage.answer("plan", "list").plans[0].id;
      stage.done("plan", "cancel", plan);
      assert.deepEqual(readdirSync(join(stage.state, "runs")), []);
      assert.deepEqual(readdirSync(stage.project), ["a.txt"]);
    });
  });
}

function rootDisk(): { readonly disk: string; readonly numbers: string } {
  const line =
    readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .find((text) => text.split(" ")[4] === "/") ?? "";
  return {
    disk: line.split(" - ")[1]?.split(" ")[1] ?? "",
    numbers: (line.split(" ")[2] ?? "").replace(":", " "),
  };
}

/** The mounts around a folder and in it, with their flags; others come and go with other tests. */
function hostFacts(folder: string): object {
  const isNear = (point: string) =>
    point === "/" || `${folder}/`.startsWith(`${point}/`) || point.startsWith(`${folder}/`);
  return {
    mounts: readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .map((line) => line.split(" ").slice(2, 6))
      .filter(([, , point = ""]) => isNear(point)),
    host: readFileSync("/proc/sys/kernel/hostname", "utf8"),
    panic: readFileSync("/proc/sys/kernel/panic", "utf8"),
  };
}
