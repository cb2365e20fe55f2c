# common.bash — sourced by tools/recipes/…: a recipe makes its data and its first weights where they are missing, trains
# (or goes on with a run that was stopped), and measures what came out on texts that it never saw.
#
#   usage: NAME [RUN] [OPTION]…     RUN: the folder of the run (build/runs/NAME); OPTION…: more for `hecate train`,
#                                   e.g. --threads 2 --time 3600
# BUILD=FOLDER whose hecate is used (build); DATA=FOLDER, REAL=FOLDER of data and models (build/data, build/real).

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${BUILD:-build}
data=${DATA:-build/data}
real=${REAL:-build/real}
hecate=$build/hecate
name=$(basename "$0")
run=build/runs/$name
if [ $# -gt 0 ] && [[ $1 != -* ]]; then
	run=$1
	shift
fi
[ -x "$hecate" ] || { echo "$name: $hecate is not built" >&2; exit 1; }
