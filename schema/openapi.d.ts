export interface paths {
    "/v1/plans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the open plans; with all also those that are over */
        get: operations["listPlans"];
        put?: never;
        /** Make a plan and its sandboxes, all or none */
        post: operations["createPlan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a plan, its resources and their sandboxes */
        get: operations["showPlan"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/places": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Everything that a plan has on this machine and on servers, with its size */
        get: operations["listPlaces"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/resources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take more resources into an open plan, all or none, with what its commands wrote there */
        post: operations["addResources"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/path": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Where the sandbox of a resource is: a folder, a file or a connection URL */
        get: operations["findSandbox"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Throw the changes away, or some of them, and keep the plan open */
        post: operations["rollBackPlan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Throw the changes away, and close the plan */
        post: operations["cancelPlan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Everything that happened to a plan */
        get: operations["showLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The content of one file, or a range of it */
        get: operations["readFile"];
        /** Write one file, all of it or nothing, and make missing folders */
        put: operations["writeFile"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/entry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The entry at a path */
        get: operations["showEntry"];
        put?: never;
        post?: never;
        /** Remove an entry; a folder that is not empty only with recursive */
        delete: operations["removeEntry"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/entries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A page of what is in a folder */
        get: operations["listEntries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/rename": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give an entry another path, where nothing may be yet */
        post: operations["renameEntry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/folder": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a folder and those above it */
        post: operations["makeFolder"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/sql": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run SQL statements in the sandbox of a database */
        post: operations["runSql"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say what a command over these resources would be allowed; make no plan, run nothing */
        post: operations["explainRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a plan, run a command inside, and land, keep or throw away what it changed */
        post: operations["run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/exec": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run a command inside, and capture its output. A command that fails is a successful call */
        post: operations["runCommand"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say what a command inside would be allowed, and which line or profile says so; run nothing */
        post: operations["explainCommand"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/exec-stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run a command inside, and stream its output. Closing the stream ends the command */
        post: operations["streamCommand"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/execs/{exec}/stdin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give a streamed command input; with end it is the last */
        post: operations["writeInput"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/execs/{exec}/signal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a signal to a streamed command. SIGKILL ends everything that it started too */
        post: operations["signalCommand"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/execs/{exec}/resize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Set the window size of a streamed command's terminal */
        post: operations["resizeTerminal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/commands": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The detached commands that run in a plan, whoever started them */
        get: operations["listCommands"];
        put?: never;
        /** Start a command that goes on without this client and this server, at a terminal of its own */
        post: operations["detachCommand"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/commands/{exec}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A detached command: whether it runs, or how it ended */
        get: operations["showCommand"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/commands/{exec}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a detached command wrote, as far as it is kept, or a part of it */
        get: operations["readOutput"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/commands/{exec}/input": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Type at the terminal of a detached command; answered when that has taken it */
        post: operations["typeInput"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/commands/{exec}/resize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Set the window size of a detached command's terminal */
        post: operations["resizeCommand"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/commands/{exec}/end": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Wait for the end of a detached command; one that still runs then is told as that */
        get: operations["awaitCommand"];
        put?: never;
        /** End a detached command: SIGTERM first, and SIGKILL after five seconds */
        post: operations["endCommand"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A page of what would change, with the digest of all of it */
        get: operations["diffPlan"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What would change by folders, in a few entries however much it is */
        get: operations["summarizeDiff"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/patch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The changes themselves, as a unified diff */
        get: operations["patchPlan"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/scratch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What commands wrote outside of the plan; it never lands */
        get: operations["listScratch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/scratch/patch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What commands wrote outside of the plan, as a unified diff */
        get: operations["patchScratch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/checkpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the saved states */
        get: operations["listCheckpoints"];
        put?: never;
        /** Save the state of all sandboxes */
        post: operations["saveCheckpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/checkpoints/{checkpoint}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Bring all sandboxes back to a saved state */
        post: operations["restoreCheckpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/review": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What was said about the plan: the verdict and the comments */
        get: operations["showReview"];
        put?: never;
        /** Ask a person to review exactly what would land now */
        post: operations["requestReview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/review/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A page of what would change, with the digest and the votes of each change */
        get: operations["reviewChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/review/hunks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The hunks of the change of a text file, in the order of its patch; none if it has no hunks */
        get: operations["reviewHunks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/review/rows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A page of the changed rows and definitions at a path of a database's diff */
        get: operations["reviewRows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/review/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The content of a file before or after its change, or a range of it */
        get: operations["readChange"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/review/votes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Approve or reject changes, folders or resources, or take that back */
        post: operations["voteOnChanges"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/review/looks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Record that the user has looked at changes */
        post: operations["lookAtChanges"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/review/comments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say something about a line, a change or the plan */
        post: operations["commentOnPlan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/review/comments/{comment}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Say a comment in other words, or settle it */
        put: operations["editComment"];
        post?: never;
        /** Remove a comment */
        delete: operations["removeComment"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/review/changes-asked": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Record that the user wants other changes than those with this digest */
        post: operations["askForChanges"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/apply": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Land everything, or nothing */
        post: operations["applyPlan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/update": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Merge into the plan what other writers changed meanwhile */
        post: operations["updatePlan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Settle a path that an update marked or could not merge */
        post: operations["resolvePath"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take the last landing back, as a whole or not at all */
        post: operations["undoPlan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Record the user's approval of exactly what has this digest */
        post: operations["approvePlan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/approval": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The last approval; it is void once a diff gives another digest */
        get: operations["showApproval"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/settle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Settle a plan in doubt: it did land, or it did not */
        post: operations["settlePlan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/abandon": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End a plan as it is, and list what may remain of it */
        post: operations["abandonPlan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/recover": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Finish or undo what dead processes left */
        post: operations["recover"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What happens to plans, whichever process does it, in order and with nothing lost */
        get: operations["followEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What happens to one plan */
        get: operations["followPlan"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hosts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the hosts of the fleet */
        get: operations["listHosts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hosts/{host}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a host of the fleet, what it lends and what waits for it */
        get: operations["showHost"];
        put?: never;
        post?: never;
        /** Forget a host that is gone for good */
        delete: operations["removeHost"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hosts/{host}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let a host take no new sandboxes; with undo let it take them again */
        post: operations["drainHost"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cleanup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List leftovers of plans and commands, and open plans that were not used for long */
        get: operations["scanLeftovers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cleanup/purge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Remove leftovers of plans and commands */
        post: operations["purgeLeftovers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cleanup/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count sandboxes, undo records and leftovers */
        get: operations["showCleanup"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/strategies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the strategies and their capabilities */
        get: operations["listStrategies"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/strategies/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run the conformance suite on a strategy */
        post: operations["checkStrategy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/trust": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Record that the user trusts a config as it is now; servers and commands that start later use it */
        post: operations["trustConfig"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/resource-types": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the types of resource */
        get: operations["listResourceTypes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/resource-types/{type}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a type of resource */
        get: operations["showResourceType"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Say what works on this machine */
        get: operations["examine"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/version": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The version of Drydock, and its state directory */
        get: operations["showVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Progress: {
            /** @description What is done at present: 'copying', 'landing'. */
            task: string;
            done: number;
            /** @description Absent while unknown. */
            total?: number;
            /** @description The operation of the call. */
            operation: string;
            planId?: string;
            /** @description Its name; absent for what is about the plan as a whole. */
            resource?: string;
        };
        Plan: {
            id: string;
            name: string;
            /** @enum {string} */
            state: "creating" | "open" | "adding" | "restoring" | "updating" | "applying" | "applied" | "undoing" | "undone" | "closing" | "cancelled" | "abandoned";
            readOnly: boolean;
            createdAt: string;
            message?: string;
            labels?: {
                [key: string]: string;
            };
            /** @enum {string} */
            review?: "asked" | "approved" | "changes asked";
            detached?: components["schemas"]["DetachedCommand"];
            undo?: {
                until: string;
                leaving?: string[];
            } | {
                not: string;
            };
            stays?: {
                resource: string;
                strategy: string;
                changes?: number;
            }[];
            /** @description For a plan that was made on another host of the fleet: that host. */
            host?: string;
            /** @description For a plan over hosts that is being applied or undone: the hosts for which it waits. */
            waits?: {
                host: string;
                /** @description The names of the resources there. */
                resources: string[];
                /**
                 * @description What it has to do.
                 * @enum {string}
                 */
                to: "prepare" | "land" | "take back";
                /** @description Since when the plan is in this step. */
                since?: string;
                isUp: boolean;
                /** @description Since when it is up, or since when nothing was heard of it. */
                hostSince?: string;
            }[];
            resources: {
                name: string;
                type: string;
                location: string;
                parent?: string;
                sharesSandboxOf?: string;
                strategy: string;
                why: string;
                /** @enum {string} */
                status: "PENDING" | "CREATED" | "ACTIVE" | "PREPARED" | "COMMITTED" | "ROLLED_BACK" | "ERRORED" | "CLEANED_UP";
                error?: string;
                /** @constant */
                restarted?: true;
                notes?: string[];
                linksOut?: {
                    path: string;
                    target: string;
                }[];
                path: string | null;
            }[];
            left?: {
                resource: string;
                message: string;
                places: string[];
            }[];
            warnings?: string[];
        };
        DetachedCommand: {
            exec: string;
            command: string;
            /** @enum {string} */
            state: "running" | "ended" | "killed";
            since: string;
            /** @description While it runs: the process that keeps it. */
            pid?: number;
            endedAt?: string;
            exitCode?: number;
            signal?: string;
            durationMs?: number;
            /** @constant */
            aborted?: true;
            limit?: string;
            denied?: {
                destination: string;
                address?: string;
                times: number;
            }[];
            /** @description How the `run` ended that started it, if otherwise than the command. */
            run?: {
                exitCode: number;
                said: string;
            };
        };
        RolledBack: {
            id: string;
            name: string;
            /** @enum {string} */
            state: "creating" | "open" | "adding" | "restoring" | "updating" | "applying" | "applied" | "undoing" | "undone" | "closing" | "cancelled" | "abandoned";
            readOnly: boolean;
            createdAt: string;
            message?: string;
            labels?: {
                [key: string]: string;
            };
            /** @enum {string} */
            review?: "asked" | "approved" | "changes asked";
            detached?: components["schemas"]["DetachedCommand"];
            undo?: {
                until: string;
                leaving?: string[];
            } | {
                not: string;
            };
            stays?: {
                resource: string;
                strategy: string;
                changes?: number;
            }[];
            /** @description For a plan that was made on another host of the fleet: that host. */
            host?: string;
            /** @description For a plan over hosts that is being applied or undone: the hosts for which it waits. */
            waits?: {
                host: string;
                /** @description The names of the resources there. */
                resources: string[];
                /**
                 * @description What it has to do.
                 * @enum {string}
                 */
                to: "prepare" | "land" | "take back";
                /** @description Since when the plan is in this step. */
                since?: string;
                isUp: boolean;
                /** @description Since when it is up, or since when nothing was heard of it. */
                hostSince?: string;
            }[];
            resources: {
                name: string;
                type: string;
                location: string;
                parent?: string;
                sharesSandboxOf?: string;
                strategy: string;
                why: string;
                /** @enum {string} */
                status: "PENDING" | "CREATED" | "ACTIVE" | "PREPARED" | "COMMITTED" | "ROLLED_BACK" | "ERRORED" | "CLEANED_UP";
                error?: string;
                /** @constant */
                restarted?: true;
                notes?: string[];
                linksOut?: {
                    path: string;
                    target: string;
                }[];
                path: string | null;
            }[];
            left?: {
                resource: string;
                message: string;
                places: string[];
            }[];
            warnings?: string[];
            /** @description If only some changes were taken out. */
            part?: {
                changes: number;
                /** @description It brings these changes back. */
                checkpoint: string;
            };
        };
        Log: {
            planId: string;
            name: string;
            /** @enum {string} */
            state: "creating" | "open" | "adding" | "restoring" | "updating" | "applying" | "applied" | "undoing" | "undone" | "closing" | "cancelled" | "abandoned";
            entries: {
                at: string;
                actor: string;
                pid?: number;
                event: string;
                details: {
                    [key: string]: unknown;
                };
            }[];
        };
        Entry: {
            path: string;
            /** @enum {string} */
            kind: "file" | "directory" | "symlink" | "fifo" | "socket" | "device";
            size: number;
            mode: number;
            mtime: string;
            target?: string;
        };
        Explanation: {
            profiles: string[];
            /** @description What it writes here lands, or is thrown away. */
            resources: string[];
            /** @description What it writes here goes with the plan. */
            scratch: string[];
            /** @description The user's home, if it sees one of the plan's own in its place. */
            ownHome?: {
                path: string;
                from: string;
            };
            /** @description What it writes here stays, at once. */
            kept: {
                path: string;
                from: string;
            }[];
            /** @description What it replaces here stays when it has ended. */
            writtenBack: {
                path: string;
                from: string;
            }[];
            /** @description Caches that it shares with other plans, where they are, and how many bytes they may hold. */
            caches: {
                paths: {
                    path: string;
                    from: string;
                }[];
                folder: string;
                limit: number;
            };
            /** @description Patterns of what lands only with the user's word. */
            protects: {
                path: string;
                from: string;
            }[];
            /** @description What it can't read. */
            denied: {
                path: string;
                from: string;
            }[];
            /** @description What it can read in these, and in a home of the plan's own. */
            readable: {
                path: string;
                from: string;
            }[];
            /** @description Sockets of this machine that it can reach. */
            sockets: {
                path: string;
                from: string;
            }[];
            variables: {
                dropped: {
                    name: string;
                    from: string;
                }[];
                set: {
                    name: string;
                    from: string;
                }[];
            };
            /** @enum {string} */
            network: "open" | "none" | "allow";
            /** @description The line about the network that counts. */
            networkFrom?: string;
            /** @description With the network allow: all that it can reach. */
            reachable: {
                destination: string;
                from: string;
            }[];
            /** @description Ports of this machine that would lead to its own. */
            published: {
                address: string;
                inside: number;
                from: string;
            }[];
            /** @description Whether it can look at its plan, save it and ask for a review. */
            channel: boolean;
            /** @description The line about the channel that counts. */
            channelFrom?: string;
            /** @description Whether it can reach the servers of databases that its plan holds, past the plan. */
            databases: boolean;
            /** @description The line about these that counts. */
            databasesFrom?: string;
            strict: boolean;
            limits: {
                processes?: number;
                memory?: number;
                scratch?: number;
                time?: number;
            };
            /** @description Which line of a policy says a limit. */
            limitsFrom: {
                processes?: string;
                memory?: string;
                scratch?: string;
                time?: string;
            };
            /** @description Lines of a project that ask for more than the user's config allows. */
            refused: {
                path: string;
                from: string;
            }[];
        };
        Run: {
            planId: string;
            exitCode: number;
            limit?: string;
            denied?: {
                destination: string;
                address?: string;
                times: number;
            }[];
            scratch: {
                files: number;
                places: {
                    path: string;
                    files: number;
                    removed: number;
                    bytes: number;
                    /** @constant */
                    cache?: true;
                }[];
            };
            stdout: string;
            stderr: string;
            truncated: {
                stdout: boolean;
                stderr: boolean;
            };
            /** @enum {string} */
            outcome: "applied" | "kept" | "discarded" | "unchanged";
            diff?: components["schemas"]["Diff"];
            apply?: components["schemas"]["Landing"];
            stays?: string[];
            /** @constant */
            landed?: true;
        };
        Diff: {
            planId: string;
            digest: string;
            stats: {
                added: number;
                modified: number;
                deleted: number;
                renamed?: number;
                insertions: number;
                deletions: number;
            };
            changes: components["schemas"]["Change"][];
            /** @description The additions among all changes that are renames, with the deletion at the old path. */
            renames: {
                resource: string;
                from: string;
                to: string;
                /** @enum {string} */
                kind: "file" | "directory" | "symlink" | "fifo" | "socket" | "device" | "row" | "table" | "object";
                entries?: number;
            }[];
            selfRunning: {
                resource: string;
                path: string;
                /** @enum {string} */
                operation: "added" | "modified" | "deleted" | "typechanged";
                tool: string;
                why: string;
                needsWord: boolean;
            }[];
            /** @description For an applied plan: these changes have landed. */
            landed?: {
                at: string;
                unlisted: {
                    resource: string;
                    changes: number;
                }[];
            };
            /** @description With checkpoint: these changes are those of a saved state, and this changed since. */
            saved?: {
                checkpoint: components["schemas"]["Checkpoint"];
                /** @description Resources whose strategy does not tell what a checkpoint holds. */
                unlisted: string[];
                since: {
                    new: number;
                    changed: number;
                    gone: number;
                    /** @description The first thousand of them. */
                    changes: {
                        resource: string;
                        path: string;
                        /** @enum {string} */
                        kind: "file" | "directory" | "symlink" | "fifo" | "socket" | "device" | "row" | "table" | "object";
                        /** @enum {string} */
                        since: "new" | "changed" | "gone";
                    }[];
                };
            };
            /** @description The cursor of the next page; absent on the last one. */
            next?: string;
        };
        Change: {
            path: string;
            /** @enum {string} */
            operation: "added" | "modified" | "deleted" | "typechanged";
            /** @enum {string} */
            kind: "file" | "directory" | "symlink" | "fifo" | "socket" | "device" | "row" | "table" | "object";
            from?: string;
            before?: {
                size?: number;
                mode?: number;
                uid?: number;
                gid?: number;
                mtime?: string;
                target?: string;
                object?: string;
                digest?: string;
                xattrs?: string;
            };
            after?: {
                size?: number;
                mode?: number;
                uid?: number;
                gid?: number;
                mtime?: string;
                target?: string;
                object?: string;
                digest?: string;
                xattrs?: string;
            };
            binary?: boolean;
            statement?: string;
            note?: string;
            rows?: number;
            warnings?: string[];
            insertions?: number;
            deletions?: number;
            resource: string;
        };
        Checkpoint: {
            id: string;
            label?: string;
            createdAt: string;
            automatic: boolean;
            before?: string;
            bytes: number;
        };
        Landing: {
            planId: string;
            /** @enum {string} */
            state: "creating" | "open" | "adding" | "restoring" | "updating" | "applying" | "applied" | "undoing" | "undone" | "closing" | "cancelled" | "abandoned";
            message?: string;
            participants: {
                resource: string;
                strategy: string;
                /** @enum {string} */
                outcome: "committed" | "unchanged";
                changes: number;
            }[];
            stays?: {
                resource: string;
                strategy: string;
                changes?: number;
            }[];
            attention: {
                resource: string;
                path: string;
                message: string;
                keptAt?: string;
            }[];
            warnings: string[];
        };
        CapturedExec: {
            planId: string;
            exitCode: number;
            signal?: string;
            durationMs: number;
            /** @constant */
            aborted?: true;
            limit?: string;
            denied?: {
                destination: string;
                address?: string;
                times: number;
            }[];
            scratch: {
                files: number;
                places: {
                    path: string;
                    files: number;
                    removed: number;
                    bytes: number;
                    /** @constant */
                    cache?: true;
                }[];
            };
            stdout: string;
            stderr: string;
            truncated: {
                stdout: boolean;
                stderr: boolean;
            };
        };
        Exec: {
            planId: string;
            exitCode: number;
            signal?: string;
            durationMs: number;
            /** @constant */
            aborted?: true;
            limit?: string;
            denied?: {
                destination: string;
                address?: string;
                times: number;
            }[];
            scratch: {
                files: number;
                places: {
                    path: string;
                    files: number;
                    removed: number;
                    bytes: number;
                    /** @constant */
                    cache?: true;
                }[];
            };
        };
        Problem: {
            /** @description A name of the kind of problem, by its code. */
            type: string;
            title: string;
            status: number;
            /** @description What is wrong, in a sentence. */
            detail: string;
            /** @description For programs: docs/library.md and docs/api.md have all of them. */
            code: string;
            /** @description What to do about it. */
            hint: string;
            details?: {
                [key: string]: unknown;
            };
        };
        CommandOutput: {
            /** @description A byte HH that is not UTF-8 is \udcHH. */
            text: string;
            /** @description Where in all of its output, in bytes, this begins. */
            from: number;
            /** @description Where the output behind this begins. */
            next: number;
            /** @description How many bytes before this were asked for and are not kept any more. */
            omitted: number;
            /**
             * @description Only what the history has is left.
             * @constant
             */
            isExcerpt?: true;
        };
        Summary: {
            planId: string;
            digest: string;
            stats: {
                added: number;
                modified: number;
                deleted: number;
                renamed?: number;
                insertions: number;
                deletions: number;
            };
            selfRunning: {
                resource: string;
                path: string;
                /** @enum {string} */
                operation: "added" | "modified" | "deleted" | "typechanged";
                tool: string;
                why: string;
                needsWord: boolean;
            }[];
            /** @description For an applied plan: these changes have landed. */
            landed?: {
                at: string;
                unlisted: {
                    resource: string;
                    changes: number;
                }[];
            };
            /** @description With checkpoint: these changes are those of a saved state, and this changed since. */
            saved?: {
                checkpoint: components["schemas"]["Checkpoint"];
                /** @description Resources whose strategy does not tell what a checkpoint holds. */
                unlisted: string[];
                since: {
                    new: number;
                    changed: number;
                    gone: number;
                    /** @description The first thousand of them. */
                    changes: {
                        resource: string;
                        path: string;
                        /** @enum {string} */
                        kind: "file" | "directory" | "symlink" | "fifo" | "socket" | "device" | "row" | "table" | "object";
                        /** @enum {string} */
                        since: "new" | "changed" | "gone";
                    }[];
                };
            };
            folders: {
                added: number;
                modified: number;
                deleted: number;
                insertions: number;
                deletions: number;
                resource: string;
                path: string;
                kinds: {
                    [key: string]: number;
                };
                warnings?: number;
                unlisted?: number;
            }[];
        };
        Scratch: {
            planId: string;
            lost?: string;
            places: {
                path: string;
                files: number;
                removed: number;
                bytes: number;
                /** @constant */
                cache?: true;
            }[];
            files: {
                path: string;
                kind: string;
                bytes: number;
                /** @constant */
                cache?: true;
            }[];
        };
        Review: {
            planId: string;
            asked?: {
                digest: string;
                message?: string;
                actor: string;
                at: string;
            };
            /** @description Void once a diff gives another digest. */
            verdict?: components["schemas"]["Verdict"];
            comments: components["schemas"]["Comment"][];
        };
        Verdict: {
            /** @enum {string} */
            verdict: "approved" | "changes asked";
            digest: string;
            message?: string;
            via: string;
            actor: string;
            at: string;
        };
        Comment: {
            id: string;
            text: string;
            resource?: string;
            path?: string;
            /** @enum {string} */
            side?: "before" | "after";
            line?: number;
            digest?: string;
            actor: string;
            at: string;
            via: string;
            editedAt?: string;
            resolved?: {
                actor: string;
                at: string;
            };
        };
        ReviewPage: {
            planId: string;
            digest: string;
            stats: {
                added: number;
                modified: number;
                deleted: number;
                renamed?: number;
                insertions: number;
                deletions: number;
            };
            changes: components["schemas"]["ReviewedChange"][];
            /** @description The additions among all changes that are renames, with the deletion at the old path. */
            renames: {
                resource: string;
                from: string;
                to: string;
                /** @enum {string} */
                kind: "file" | "directory" | "symlink" | "fifo" | "socket" | "device" | "row" | "table" | "object";
                entries?: number;
            }[];
            selfRunning: {
                resource: string;
                path: string;
                /** @enum {string} */
                operation: "added" | "modified" | "deleted" | "typechanged";
                tool: string;
                why: string;
                needsWord: boolean;
            }[];
            /** @description For an applied plan: these changes have landed. */
            landed?: {
                at: string;
                unlisted: {
                    resource: string;
                    changes: number;
                }[];
            };
            /** @description With checkpoint: these changes are those of a saved state, and this changed since. */
            saved?: {
                checkpoint: components["schemas"]["Checkpoint"];
                /** @description Resources whose strategy does not tell what a checkpoint holds. */
                unlisted: string[];
                since: {
                    new: number;
                    changed: number;
                    gone: number;
                    /** @description The first thousand of them. */
                    changes: {
                        resource: string;
                        path: string;
                        /** @enum {string} */
                        kind: "file" | "directory" | "symlink" | "fifo" | "socket" | "device" | "row" | "table" | "object";
                        /** @enum {string} */
                        since: "new" | "changed" | "gone";
                    }[];
                };
            };
            /** @description The cursor of the next page; absent on the last one. */
            next?: string;
            votes: {
                approved: number;
                rejected: number;
                partly: number;
                open: number;
            };
            unseen: number;
        };
        ReviewedChange: {
            path: string;
            /** @enum {string} */
            operation: "added" | "modified" | "deleted" | "typechanged";
            /** @enum {string} */
            kind: "file" | "directory" | "symlink" | "fifo" | "socket" | "device" | "row" | "table" | "object";
            from?: string;
            before?: {
                size?: number;
                mode?: number;
                uid?: number;
                gid?: number;
                mtime?: string;
                target?: string;
                object?: string;
                digest?: string;
                xattrs?: string;
            };
            after?: {
                size?: number;
                mode?: number;
                uid?: number;
                gid?: number;
                mtime?: string;
                target?: string;
                object?: string;
                digest?: string;
                xattrs?: string;
            };
            binary?: boolean;
            statement?: string;
            note?: string;
            rows?: number;
            warnings?: string[];
            insertions?: number;
            deletions?: number;
            resource: string;
            /** @description Of this change alone. A vote binds to it. */
            digest: string;
            /** @enum {string} */
            vote?: "approved" | "rejected";
            /** @description Votes on single hunks, by their id. */
            hunks?: {
                [key: string]: "approved" | "rejected";
            };
            /** @description Whether the user has looked at it as it is now. */
            seen: boolean;
        };
        Hunks: {
            planId: string;
            /** @description Of the change. */
            digest: string;
            hunks: {
                id: string;
                oldStart: number;
                oldLines: number;
                newStart: number;
                newLines: number;
                /** @description As in a patch, with a sign before each. */
                lines: string[];
                /** @enum {string} */
                vote?: "approved" | "rejected";
            }[];
        };
        ChangedRows: {
            planId: string;
            /** @description The definitions that differ. */
            definitions: {
                /** @description table, index, view, trigger, number or statistics */
                type: string;
                before?: components["schemas"]["ShownValue"];
                after?: components["schemas"]["ShownValue"];
            }[];
            columns: {
                name: string;
                /** @description Whether the rows are told apart by it. */
                isKey: boolean;
                /**
                 * @description The only side that has it.
                 * @enum {string}
                 */
                only?: "before" | "after";
            }[];
            rows: {
                path: string;
                /** @enum {string} */
                operation: "added" | "modified" | "deleted";
                /** @description A place for each column; null where this side lacks the column. */
                before?: (components["schemas"]["ShownValue"] | null)[];
                /** @description A place for each column; null where this side lacks the column. */
                after?: (components["schemas"]["ShownValue"] | null)[];
                /** @description The columns that differ, counted from 0; exact. */
                changed: number[];
            }[];
            /** @description How many rows change in all. */
            total: number;
            /** @description How many rows of an altered table stay as they are. */
            same: number;
            /** @description Of all of it, on all pages. */
            digest: string;
            next?: string;
        };
        ShownValue: {
            /** @enum {string} */
            type: "null" | "integer" | "real" | "text" | "bytes";
            /** @description As people read it; bytes in hex. Only its beginning, if size is there. */
            text: string;
            /** @description How many bytes the value has, if not all are shown. */
            size?: number;
        };
        Update: {
            planId: string;
            merged: {
                resource: string;
                path: string;
            }[];
            marked: {
                resource: string;
                path: string;
            }[];
            unmerged: {
                resource: string;
                path: string;
                why: string;
            }[];
            unsupported: {
                resource: string;
                strategy: string;
            }[];
            checkpoint?: string;
        };
        Resolved: {
            resource: string;
            path: string;
            planId: string;
            /** @enum {string} */
            how: "ours" | "theirs" | "keep-both";
            beside?: string;
            checkpoint: string;
        };
        Approval: {
            planId: string;
            digest: string;
            allow: string[];
            via: string;
            actor: string;
            at: string;
        };
        Recovery: {
            finished: {
                planId: string;
                planName: string;
                /** @enum {string} */
                direction: "commit" | "undo" | "restore" | "update" | "rollback";
                attention: {
                    resource: string;
                    path: string;
                    message: string;
                    keptAt?: string;
                }[];
            }[];
            undone: {
                planId: string;
                planName: string;
                /** @enum {string} */
                direction: "commit" | "undo" | "restore" | "update" | "rollback";
                attention: {
                    resource: string;
                    path: string;
                    message: string;
                    keptAt?: string;
                }[];
            }[];
            cleaned: {
                planId: string;
                what: string;
            }[];
            pending: {
                planId: string;
                planName: string;
                /** @enum {string} */
                direction: "commit" | "undo" | "restore" | "update" | "rollback";
                attention: {
                    resource: string;
                    path: string;
                    message: string;
                    keptAt?: string;
                }[];
                why: string;
                inDoubt: boolean;
            }[];
        };
        Abandoned: {
            planId: string;
            planName: string;
            /** @enum {string} */
            state: "creating" | "open" | "adding" | "restoring" | "updating" | "applying" | "applied" | "undoing" | "undone" | "closing" | "cancelled" | "abandoned";
            resources: {
                resource: string;
                location: string;
                /** @enum {string} */
                original: "untouched" | "landed" | "unknown";
                message: string;
                left: {
                    kind: string;
                    location: string;
                }[];
            }[];
        };
        Event: {
            at: string;
            actor: string;
            pid?: number;
            event: string;
            details: {
                [key: string]: unknown;
            };
            cursor: string;
            planId: string;
        };
        Host: {
            name: string;
            /** @description Whether its service runs, as far as its lease says. */
            isUp: boolean;
            /** @description Since when it is up, or since when nothing was heard of it. */
            since?: string;
            /** @description It takes no new sandboxes. */
            isDrained: boolean;
            drydock: string;
            contract: number;
            lend: {
                location: string;
                type?: string;
                run: boolean;
            }[];
            epoch: number;
            start?: string;
            /** @description How many calls wait for it, or run there. */
            waiting: number;
        };
        ShownHost: {
            name: string;
            /** @description Whether its service runs, as far as its lease says. */
            isUp: boolean;
            /** @description Since when it is up, or since when nothing was heard of it. */
            since?: string;
            /** @description It takes no new sandboxes. */
            isDrained: boolean;
            drydock: string;
            contract: number;
            lend: {
                location: string;
                type?: string;
                run: boolean;
            }[];
            epoch: number;
            start?: string;
            /** @description How many calls wait for it, or run there. */
            waiting: number;
            /** @description The plans that wait for it. */
            plans: {
                planId: string;
                planName: string;
                state: string;
                since: string;
            }[];
        };
        Leftovers: {
            items: {
                kind: string;
                planId: string;
                location: string;
                ageSeconds: number | null;
                bytes?: number;
                reason: string;
                /** @constant */
                holdsWork?: true;
            }[];
            idlePlans: {
                planId: string;
                name: string;
                lastUsed: string;
                by: string;
                bytes: number;
            }[];
        };
        Purged: {
            dryRun: boolean;
            removed: {
                kind: string;
                planId: string;
                location: string;
                ageSeconds: number | null;
                bytes?: number;
                reason: string;
                /** @constant */
                holdsWork?: true;
            }[];
            kept: {
                kind: string;
                planId: string;
                location: string;
                ageSeconds: number | null;
                bytes?: number;
                reason: string;
                /** @constant */
                holdsWork?: true;
                why: string;
            }[];
            failed: {
                kind: string;
                planId: string;
                location: string;
                ageSeconds: number | null;
                bytes?: number;
                reason: string;
                /** @constant */
                holdsWork?: true;
                message: string;
            }[];
        };
        CleanupStatus: {
            stateDir: string;
        } & {
            [key: string]: unknown;
        };
        Strategies: {
            strategies: ({
                name: string;
                builtIn: boolean;
                version?: string;
                commit: string;
                undo: boolean;
                checkpoint: boolean;
                isolation: string;
                strength: number;
            } & {
                [key: string]: unknown;
            })[];
            unusable: {
                name: string;
                code: string;
                message: string;
                hint: string;
            }[];
        };
        ConformanceReport: {
            strategy: string;
            passed: {
                name: string;
                group: string;
                reason?: string;
            }[];
            failed: {
                name: string;
                group: string;
                reason?: string;
            }[];
            excluded: {
                name: string;
                group: string;
                reason?: string;
            }[];
        };
        TrustedConfig: {
            file: string;
            modules: {
                file: string;
                sha256: string;
            }[];
            packages: string[];
            hidesText: string[];
        };
        ResourceType: {
            name: string;
            builtIn: boolean;
            extends: string | null;
            sandboxStrategy: string | null;
            strategies: string[] | null;
            parentTypes: string[] | null;
            childTypes: string[] | null;
            capabilities: string[];
        };
        Doctor: {
            node: string;
            kernel: string;
            platform: string;
            stateDir: string;
            checks: {
                name: string;
                ok: boolean;
                detail: string;
            }[];
            strategies: {
                name: string;
                works: boolean;
                detail: string;
                strength: number;
                loses?: string[];
                ways?: {
                    name: string;
                    works: boolean;
                    detail: string;
                }[];
            }[];
            resourceTypes: {
                type: string;
                strategy: string | null;
                why: string;
            }[];
        };
    };
    responses: {
        /** @description It was refused, or failed; nothing was changed unless the problem says so */
        Problem: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listPlans: {
        parameters: {
            query?: {
                all?: boolean;
                /** @description Only plans with these labels: KEY or KEY=VALUE each. */
                label?: string[];
                /** @description At most so many plans, the newest. Default: all. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        plans: components["schemas"]["Plan"][];
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    createPlan: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    resources: {
                        /** @description A path or a URL, or the name of a resource in the config. */
                        location: string;
                        /** @description Default: the last name of the location. */
                        name?: string;
                        /** @description Default: detected. */
                        type?: string;
                        /** @description Default: the strongest that works here. */
                        strategy?: string;
                        from?: string;
                    }[];
                    name?: string;
                    labels?: {
                        [key: string]: string;
                    };
                    allowIrreversible?: boolean;
                    readOnly?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    showPlan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    listPlaces: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        planId: string;
                        places: {
                            kind: string;
                            location: string;
                            resource?: string;
                            bytes?: number;
                        }[];
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    addResources: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    resources: {
                        /** @description A path or a URL, or the name of a resource in the config. */
                        location: string;
                        /** @description Default: the last name of the location. */
                        name?: string;
                        /** @description Default: detected. */
                        type?: string;
                        /** @description Default: the strongest that works here. */
                        strategy?: string;
                        from?: string;
                    }[];
                    allowIrreversible?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    findSandbox: {
        parameters: {
            query?: {
                /** @description The name of a resource of the plan. Needed only if the plan has several. */
                resource?: string;
            };
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        path: string;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    rollBackPlan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Take only these paths out, [RESOURCE:]PATTERN each. */
                    only?: string[];
                    /** @description Take out what votes reject, hunks too. */
                    rejected?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RolledBack"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    cancelPlan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description End the detached command that runs in it first. */
                    force?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    showLog: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Log"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    readFile: {
        parameters: {
            query: {
                /** @description The name of a resource of the plan. Needed only if the plan has several. */
                resource?: string;
                /** @description A path inside the resource, relative to it; the root is '.'. In a URL any bytes, percent-encoded; in JSON a byte HH that is not UTF-8 is \udcHH. */
                path: string;
            };
            header?: {
                /** @description One range of bytes: bytes=FIRST-LAST. */
                Range?: string;
            };
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description The range */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    writeFile: {
        parameters: {
            query: {
                /** @description The name of a resource of the plan. Needed only if the plan has several. */
                resource?: string;
                /** @description A path inside the resource, relative to it; the root is '.'. In a URL any bytes, percent-encoded; in JSON a byte HH that is not UTF-8 is \udcHH. */
                path: string;
            };
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": unknown;
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        path: string;
                        /** @enum {string} */
                        operation: "added" | "modified" | "deleted" | "typechanged";
                        /** @enum {string} */
                        kind: "file" | "directory" | "symlink" | "fifo" | "socket" | "device" | "row" | "table" | "object";
                        from?: string;
                        before?: {
                            size?: number;
                            mode?: number;
                            uid?: number;
                            gid?: number;
                            mtime?: string;
                            target?: string;
                            object?: string;
                            digest?: string;
                            xattrs?: string;
                        };
                        after?: {
                            size?: number;
                            mode?: number;
                            uid?: number;
                            gid?: number;
                            mtime?: string;
                            target?: string;
                            object?: string;
                            digest?: string;
                            xattrs?: string;
                        };
                        binary?: boolean;
                        statement?: string;
                        note?: string;
                        rows?: number;
                        warnings?: string[];
                        insertions?: number;
                        deletions?: number;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    showEntry: {
        parameters: {
            query: {
                /** @description The name of a resource of the plan. Needed only if the plan has several. */
                resource?: string;
                /** @description A path inside the resource, relative to it; the root is '.'. In a URL any bytes, percent-encoded; in JSON a byte HH that is not UTF-8 is \udcHH. */
                path: string;
            };
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entry"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    removeEntry: {
        parameters: {
            query: {
                /** @description The name of a resource of the plan. Needed only if the plan has several. */
                resource?: string;
                /** @description A path inside the resource, relative to it; the root is '.'. In a URL any bytes, percent-encoded; in JSON a byte HH that is not UTF-8 is \udcHH. */
                path: string;
                recursive?: boolean;
            };
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        removed: string;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    listEntries: {
        parameters: {
            query: {
                /** @description The name of a resource of the plan. Needed only if the plan has several. */
                resource?: string;
                /** @description A path inside the resource, relative to it; the root is '.'. In a URL any bytes, percent-encoded; in JSON a byte HH that is not UTF-8 is \udcHH. */
                path: string;
                recursive?: boolean;
                /** @description Only paths that this pattern chooses, with * and **. */
                match?: string;
                prefix?: string;
                /** @description The next of an earlier page. */
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        entries: components["schemas"]["Entry"][];
                        next?: string;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    renameEntry: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The name of a resource of the plan. Needed only if the plan has several. */
                    resource?: string;
                    /** @description A path inside the resource, relative to it; the root is '.'. In a URL any bytes, percent-encoded; in JSON a byte HH that is not UTF-8 is \udcHH. */
                    from: string;
                    /** @description A path inside the resource, relative to it; the root is '.'. In a URL any bytes, percent-encoded; in JSON a byte HH that is not UTF-8 is \udcHH. */
                    to: string;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        from: string;
                        to: string;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    makeFolder: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The name of a resource of the plan. Needed only if the plan has several. */
                    resource?: string;
                    /** @description A path inside the resource, relative to it; the root is '.'. In a URL any bytes, percent-encoded; in JSON a byte HH that is not UTF-8 is \udcHH. */
                    path: string;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entry"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    runSql: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The name of a resource of the plan. Needed only if the plan has several. */
                    resource?: string;
                    script: string;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        results: {
                            columns: string[];
                            /** @description Integers have all their digits; bytes are { base64 }. */
                            rows: unknown[][];
                            changes: number;
                        }[];
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    explainRun: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    resources: {
                        /** @description A path or a URL, or the name of a resource in the config. */
                        location: string;
                        /** @description Default: the last name of the location. */
                        name?: string;
                        /** @description Default: detected. */
                        type?: string;
                        /** @description Default: the strongest that works here. */
                        strategy?: string;
                        from?: string;
                    }[];
                    /** @description The program and its arguments. */
                    command?: string[];
                    /** @description Whether it may use the network. Default: as the policy says. */
                    network?: boolean;
                    strict?: boolean;
                    /** @description Built-in policies; automatic: that of the program. Default: those that configs name. */
                    profiles?: ("claude" | "codex" | "gemini" | "opencode" | "goose" | "aider" | "node" | "python" | "rust" | "go")[] | "automatic";
                    /** @description Processes, bytes of memory and of scratch, milliseconds. */
                    limits?: {
                        processes?: number;
                        memory?: number;
                        scratch?: number;
                        time?: number;
                    };
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    run: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    plan: {
                        resources: {
                            /** @description A path or a URL, or the name of a resource in the config. */
                            location: string;
                            /** @description Default: the last name of the location. */
                            name?: string;
                            /** @description Default: detected. */
                            type?: string;
                            /** @description Default: the strongest that works here. */
                            strategy?: string;
                            from?: string;
                        }[];
                        name?: string;
                        labels?: {
                            [key: string]: string;
                        };
                        allowIrreversible?: boolean;
                    };
                    /** @description The program and its arguments. */
                    command: string[];
                    /** @description Where it starts. Default: the first resource that is a folder. */
                    cwd?: string;
                    environment?: {
                        [key: string]: string;
                    };
                    /** @description Run it even where this machine can keep it from nothing. Default: no. */
                    unconfined?: boolean;
                    /** @description Whether it may use the network. Default: as the policy says. */
                    network?: boolean;
                    strict?: boolean;
                    /** @description Built-in policies; automatic: that of the program. Default: those that configs name. */
                    profiles?: ("claude" | "codex" | "gemini" | "opencode" | "goose" | "aider" | "node" | "python" | "rust" | "go")[] | "automatic";
                    /** @description Processes, bytes of memory and of scratch, milliseconds. */
                    limits?: {
                        processes?: number;
                        memory?: number;
                        scratch?: number;
                        time?: number;
                    };
                    /** @description Its standard input. */
                    input?: string;
                    maxOutputBytes?: number;
                    /**
                     * @description What becomes of them; they land only if the command succeeds. Default: keep.
                     * @enum {string}
                     */
                    changes?: "apply" | "keep" | "discard";
                    /** @description Land even if the command wrote files outside of the plan too. */
                    ignoreOutside?: boolean;
                    /** @description The reason, recorded with the plan. */
                    message?: string;
                    /** @description Land the commits of a git checkout as one. */
                    squash?: boolean;
                    /** @description Files that may land although tools run them by themselves. */
                    allow?: string[];
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    runCommand: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The program and its arguments. */
                    command: string[];
                    /** @description Where it starts. Default: the first resource that is a folder. */
                    cwd?: string;
                    environment?: {
                        [key: string]: string;
                    };
                    /** @description Run it even where this machine can keep it from nothing. Default: no. */
                    unconfined?: boolean;
                    /** @description Whether it may use the network. Default: as the policy says. */
                    network?: boolean;
                    strict?: boolean;
                    /** @description Built-in policies; automatic: that of the program. Default: those that configs name. */
                    profiles?: ("claude" | "codex" | "gemini" | "opencode" | "goose" | "aider" | "node" | "python" | "rust" | "go")[] | "automatic";
                    /** @description Processes, bytes of memory and of scratch, milliseconds. */
                    limits?: {
                        processes?: number;
                        memory?: number;
                        scratch?: number;
                        time?: number;
                    };
                    /** @description Whether to save a checkpoint first. Default: yes. */
                    checkpoint?: boolean;
                    /** @description Its standard input. */
                    input?: string;
                    maxOutputBytes?: number;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CapturedExec"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    explainCommand: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description The program and its arguments. */
                    command?: string[];
                    /** @description Whether it may use the network. Default: as the policy says. */
                    network?: boolean;
                    strict?: boolean;
                    /** @description Built-in policies; automatic: that of the program. Default: those that configs name. */
                    profiles?: ("claude" | "codex" | "gemini" | "opencode" | "goose" | "aider" | "node" | "python" | "rust" | "go")[] | "automatic";
                    /** @description Processes, bytes of memory and of scratch, milliseconds. */
                    limits?: {
                        processes?: number;
                        memory?: number;
                        scratch?: number;
                        time?: number;
                    };
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    streamCommand: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The program and its arguments. */
                    command: string[];
                    /** @description Where it starts. Default: the first resource that is a folder. */
                    cwd?: string;
                    environment?: {
                        [key: string]: string;
                    };
                    /** @description Run it even where this machine can keep it from nothing. Default: no. */
                    unconfined?: boolean;
                    /** @description Whether it may use the network. Default: as the policy says. */
                    network?: boolean;
                    strict?: boolean;
                    /** @description Built-in policies; automatic: that of the program. Default: those that configs name. */
                    profiles?: ("claude" | "codex" | "gemini" | "opencode" | "goose" | "aider" | "node" | "python" | "rust" | "go")[] | "automatic";
                    /** @description Processes, bytes of memory and of scratch, milliseconds. */
                    limits?: {
                        processes?: number;
                        memory?: number;
                        scratch?: number;
                        time?: number;
                    };
                    /** @description Whether to save a checkpoint first. Default: yes. */
                    checkpoint?: boolean;
                    /** @description Gives it a terminal of its own. Default: three pipes. */
                    terminal?: {
                        rows: number;
                        columns: number;
                    };
                };
            };
        };
        responses: {
            /** @description Server-sent events; data is JSON. A failure on the way is the last event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": {
                        /** @constant */
                        event: "started";
                        data: {
                            exec: string;
                            planId: string;
                        };
                    } | {
                        /** @constant */
                        event: "stdout";
                        data: {
                            base64: string;
                        };
                    } | {
                        /** @constant */
                        event: "stderr";
                        data: {
                            base64: string;
                        };
                    } | {
                        /** @constant */
                        event: "ended";
                        data: components["schemas"]["Exec"];
                    } | {
                        /** @constant */
                        event: "problem";
                        data: components["schemas"]["Problem"];
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    writeInput: {
        parameters: {
            query?: {
                end?: boolean;
            };
            header?: never;
            path: {
                /** @description The exec of the event `started`. */
                exec: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": unknown;
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        exec: string;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    signalCommand: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The exec of the event `started`. */
                exec: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    signal: "SIGHUP" | "SIGINT" | "SIGQUIT" | "SIGILL" | "SIGTRAP" | "SIGABRT" | "SIGIOT" | "SIGBUS" | "SIGFPE" | "SIGKILL" | "SIGUSR1" | "SIGSEGV" | "SIGUSR2" | "SIGPIPE" | "SIGALRM" | "SIGTERM" | "SIGCHLD" | "SIGSTKFLT" | "SIGCONT" | "SIGSTOP" | "SIGTSTP" | "SIGTTIN" | "SIGTTOU" | "SIGURG" | "SIGXCPU" | "SIGXFSZ" | "SIGVTALRM" | "SIGPROF" | "SIGWINCH" | "SIGIO" | "SIGPOLL" | "SIGPWR" | "SIGSYS";
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        exec: string;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    resizeTerminal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The exec of the event `started`. */
                exec: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    rows: number;
                    columns: number;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        exec: string;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    listCommands: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        commands: components["schemas"]["DetachedCommand"][];
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    detachCommand: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The program and its arguments. */
                    command: string[];
                    /** @description Where it starts. Default: the first resource that is a folder. */
                    cwd?: string;
                    environment?: {
                        [key: string]: string;
                    };
                    /** @description Run it even where this machine can keep it from nothing. Default: no. */
                    unconfined?: boolean;
                    /** @description Whether it may use the network. Default: as the policy says. */
                    network?: boolean;
                    strict?: boolean;
                    /** @description Built-in policies; automatic: that of the program. Default: those that configs name. */
                    profiles?: ("claude" | "codex" | "gemini" | "opencode" | "goose" | "aider" | "node" | "python" | "rust" | "go")[] | "automatic";
                    /** @description Processes, bytes of memory and of scratch, milliseconds. */
                    limits?: {
                        processes?: number;
                        memory?: number;
                        scratch?: number;
                        time?: number;
                    };
                    /** @description Whether to save a checkpoint first. Default: yes. */
                    checkpoint?: boolean;
                    /** @description The size of its terminal. Default: 24 rows, 80 columns. */
                    terminal?: {
                        rows: number;
                        columns: number;
                    };
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DetachedCommand"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    showCommand: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
                /** @description The command: the `exec` that its start told. */
                exec: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DetachedCommand"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    readOutput: {
        parameters: {
            query?: {
                /** @description The first byte of it, such as the `next` of the answer before. */
                from?: number;
                /** @description How many bytes of its end, instead. */
                last?: number;
            };
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
                /** @description The command: the `exec` that its start told. */
                exec: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommandOutput"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    typeInput: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
                /** @description The command: the `exec` that its start told. */
                exec: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": unknown;
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        exec: string;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    resizeCommand: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
                /** @description The command: the `exec` that its start told. */
                exec: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    rows: number;
                    columns: number;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        exec: string;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    awaitCommand: {
        parameters: {
            query: {
                /** @description How long to wait: at most 300. Default: 30. */
                seconds: number;
            };
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
                /** @description The command: the `exec` that its start told. */
                exec: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DetachedCommand"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    endCommand: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
                /** @description The command: the `exec` that its start told. */
                exec: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DetachedCommand"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    diffPlan: {
        parameters: {
            query?: {
                /** @description Only changes at or below these paths. */
                paths?: string[];
                /** @description Look into this checkpoint instead: its id, the beginning of its id, or its label. */
                checkpoint?: string;
                /** @description The next of an earlier page. */
                cursor?: string;
                /** @description The most changes of a page. Default: 1,000. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Diff"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    summarizeDiff: {
        parameters: {
            query?: {
                /** @description Only changes at or below these paths. */
                paths?: string[];
                /** @description Look into this checkpoint instead: its id, the beginning of its id, or its label. */
                checkpoint?: string;
            };
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Summary"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    patchPlan: {
        parameters: {
            query?: {
                /** @description Only changes at or below these paths. */
                paths?: string[];
                /** @description Look into this checkpoint instead: its id, the beginning of its id, or its label. */
                checkpoint?: string;
            };
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/x-diff": unknown;
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    listScratch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Scratch"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    patchScratch: {
        parameters: {
            query?: {
                /** @description Only changes at or below these paths. */
                paths?: string[];
            };
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/x-diff": unknown;
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    listCheckpoints: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        planId: string;
                        checkpoints: components["schemas"]["Checkpoint"][];
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    saveCheckpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    label?: string;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        label?: string;
                        createdAt: string;
                        automatic: boolean;
                        before?: string;
                        bytes: number;
                        planId: string;
                        warnings: string[];
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    restoreCheckpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
                /** @description Its id, the beginning of its id, or its label. */
                checkpoint: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        planId: string;
                        checkpoint: components["schemas"]["Checkpoint"];
                        dropped: string[];
                        warnings: string[];
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    showReview: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Review"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    requestReview: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    message?: string;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        planId: string;
                        digest: string;
                        stats: {
                            added: number;
                            modified: number;
                            deleted: number;
                            renamed?: number;
                            insertions: number;
                            deletions: number;
                        };
                        approval?: components["schemas"]["Approval"];
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    reviewChanges: {
        parameters: {
            query?: {
                /** @description Only changes at or below these paths. */
                paths?: string[];
                /** @description The next of an earlier page. */
                cursor?: string;
                /** @description The most changes of a page. Default: 1,000. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReviewPage"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    reviewHunks: {
        parameters: {
            query: {
                /** @description The name of a resource of the plan. Needed only if the plan has several. */
                resource?: string;
                /** @description A path inside the resource, relative to it; the root is '.'. In a URL any bytes, percent-encoded; in JSON a byte HH that is not UTF-8 is \udcHH. */
                path: string;
            };
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hunks"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    reviewRows: {
        parameters: {
            query: {
                /** @description The name of a resource of the plan. Needed only if the plan has several. */
                resource?: string;
                /** @description The path of a change, or a table: its name, as in the paths of its rows. */
                path: string;
                /** @description The next of an earlier page. */
                cursor?: string;
                /** @description The most rows of a page. Default: 100; at most 1,000. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedRows"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    readChange: {
        parameters: {
            query: {
                /** @description The name of a resource of the plan. Needed only if the plan has several. */
                resource?: string;
                /** @description A path inside the resource, relative to it; the root is '.'. In a URL any bytes, percent-encoded; in JSON a byte HH that is not UTF-8 is \udcHH. */
                path: string;
                side: "before" | "after";
                /** @description The digest of that side, as the change has it; refuses others. */
                digest?: string;
            };
            header?: {
                /** @description One range of bytes: bytes=FIRST-LAST. */
                Range?: string;
            };
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description The range */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    voteOnChanges: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    vote: "approved" | "rejected" | "none";
                    targets: {
                        /** @description Default: all resources. */
                        resource?: string;
                        /** @description Without a digest: everything at or below it. Default: '.'. */
                        path?: string;
                        /** @description The digest of a change, as reviewChanges gives it. */
                        digest?: string;
                        /** @description The id of one hunk of the change with this digest. */
                        hunk?: string;
                    }[];
                    /** @description The digest of the whole diff; needed by targets without one of their own. */
                    digest?: string;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        planId: string;
                        changes: number;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    lookAtChanges: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    targets: {
                        /** @description Default: all resources. */
                        resource?: string;
                        /** @description Without a digest: everything at or below it. Default: '.'. */
                        path?: string;
                        /** @description The digest of a change, as reviewChanges gives it. */
                        digest?: string;
                        /** @description The id of one hunk of the change with this digest. */
                        hunk?: string;
                    }[];
                    /** @description The digest of the whole diff; needed by targets without one of their own. */
                    digest?: string;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        planId: string;
                        changes: number;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    commentOnPlan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    text: string;
                    resource?: string;
                    path?: string;
                    /**
                     * @description The side that the line is counted on. Default: after.
                     * @enum {string}
                     */
                    side?: "before" | "after";
                    line?: number;
                    /** @description The digest of a change, as reviewChanges gives it. */
                    digest?: string;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    editComment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
                comment: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    text?: string;
                    resolved?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    removeComment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
                comment: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        removed: string;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    askForChanges: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    digest: string;
                    message?: string;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Verdict"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    applyPlan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description The reason, recorded with the plan. */
                    message?: string;
                    /** @description Land only exactly what a diff showed with this digest. */
                    digest?: string;
                    /** @description Land only exactly what was approved. */
                    approved?: boolean;
                    /** @description Land exactly the changes and hunks that votes approve; the rest stays. */
                    approvedPart?: boolean;
                    /** @description Land only these paths, [RESOURCE:]PATTERN each. */
                    only?: string[];
                    /** @description Files that may land although tools run them by themselves. */
                    allow?: string[];
                    /** @description Commands that must succeed inside the sandboxes first. */
                    check?: string[];
                    /** @description Whether the checks of the configuration run. Default: true. */
                    checks?: boolean;
                    /** @description Land the commits of a git checkout as one. */
                    squash?: boolean;
                    dryRun?: boolean;
                    allowIrreversible?: boolean;
                    afterRestart?: boolean;
                    /** @description First merge what other writers changed meanwhile; land only if all of it was. */
                    update?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Landing"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    updatePlan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Update"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    resolvePath: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The name of a resource of the plan. Needed only if the plan has several. */
                    resource?: string;
                    /** @description A path inside the resource, relative to it; the root is '.'. In a URL any bytes, percent-encoded; in JSON a byte HH that is not UTF-8 is \udcHH. */
                    path: string;
                    /** @enum {string} */
                    how: "ours" | "theirs" | "keep-both";
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resolved"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    undoPlan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Resources that may stay as they landed, because they can't be taken back. */
                    leave?: string[];
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Landing"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    approvePlan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    digest: string;
                    allow?: string[];
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    showApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        approval: components["schemas"]["Approval"] | null;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    settlePlan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    how: "commit" | "abort";
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recovery"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    abandonPlan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Abandoned"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    recover: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recovery"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    followEvents: {
        parameters: {
            query?: {
                /** @description Only what comes behind this cursor, or 'now'. The header Last-Event-ID says the same. */
                after?: string;
            };
            header?: {
                /** @description The id of the last event that the client got. */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events; data is JSON. A failure on the way is the last event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": {
                        /** @constant */
                        event: "plan";
                        data: components["schemas"]["Event"];
                    } | {
                        /** @constant */
                        event: "problem";
                        data: components["schemas"]["Problem"];
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    followPlan: {
        parameters: {
            query?: {
                /** @description Only what comes behind this cursor, or 'now'. The header Last-Event-ID says the same. */
                after?: string;
            };
            header?: {
                /** @description The id of the last event that the client got. */
                "Last-Event-ID"?: string;
            };
            path: {
                /** @description The plan: its id, the beginning of its id, or its name. */
                plan: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events; data is JSON. A failure on the way is the last event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": {
                        /** @constant */
                        event: "plan";
                        data: components["schemas"]["Event"];
                    } | {
                        /** @constant */
                        event: "problem";
                        data: components["schemas"]["Problem"];
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    listHosts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The name of this host. */
                        host: string;
                        hosts: components["schemas"]["Host"][];
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    showHost: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a host of the fleet. */
                host: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShownHost"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    removeHost: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a host of the fleet. */
                host: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        removed: string;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    drainHost: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a host of the fleet. */
                host: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    undo?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Host"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    scanLeftovers: {
        parameters: {
            query?: {
                /** @description Only leftovers of at least this age, in milliseconds. */
                olderThanMs?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Leftovers"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    purgeLeftovers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    olderThanMs?: number;
                    dryRun?: boolean;
                    /** @description Also undo records of at least this age. */
                    undoOlderThanMs?: number;
                    /** @description Also those that may hold the only copy of work. */
                    force?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Purged"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    showCleanup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CleanupStatus"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    listStrategies: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Strategies"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    checkStrategy: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Its name, or MODULE:CLASS. */
                    strategy: string;
                    /** @description A folder for the resources, or MODULE:FUNCTION, which makes one. */
                    resource?: string;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConformanceReport"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    trustConfig: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Its path. */
                    file: string;
                };
            };
        };
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrustedConfig"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    listResourceTypes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        types: components["schemas"]["ResourceType"][];
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    showResourceType: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResourceType"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    examine: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Doctor"];
                };
            };
            default: components["responses"]["Problem"];
        };
    };
    showVersion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. With 'Accept: text/event-stream' the same comes as events: progress (Progress), then done or problem. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        version: string;
                        stateDir: string;
                    };
                };
            };
            default: components["responses"]["Problem"];
        };
    };
}
