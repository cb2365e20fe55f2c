# apt.bash — sourced by tools/data/…: apt with its own state folder. The package lists and languages of the machine
# do not change.
#
#   apt_state FOLDER MIRROR SUITE LANGUAGE…   creates the state in FOLDER if it does not exist
#   apt WORD…                                 runs apt-get with this state
#   apt_list PATTERN                          prints the package list whose file name matches

apt_state() {
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	apt_folder=$1
	mkdir -p "$apt_folder"/{lists,archives}/partial
	echo "deb [signed-by=$keyring] $2 $3 main" >"$apt_folder/sources.list"
	shift 3
	cat >"$apt_folder/apt.conf" <<-END
		#clear Acquire::Languages;
		Acquire::Languages { $(printf '"%s"; ' "$@")};
		Dir::State "$apt_folder";
		Dir::State::status "$apt_folder/status";
		Dir::Cache "$apt_folder";
		Dir::Etc::sourcelist "$apt_folder/sources.list";
		Dir::Etc::sourceparts "-";
		APT::Sandbox::User "";
	END
	touch "$apt_folder/status"
}

apt() { apt-get -qq -c "$apt_folder/apt.conf" "$@"; }

apt_lists() { find "$apt_folder/lists" -maxdepth 1 -name "$1"; }

apt_list() { /usr/lib/apt/apt-helper cat-file "$(apt_lists "$1" | head -n 1)"; }
