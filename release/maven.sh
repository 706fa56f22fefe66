#!/bin/sh
# Deploys the Spark source as a Maven artifact: jar, sources, documentation and pom. Needs mvn and a JDK, and `make setup`.
#
# Usage: maven.sh URL   (file:///some/folder, or a repository that ~/.m2/settings.xml has credentials for as `kodec`)
# $REPOSITORY is where the project is; without it, Repository under [project.urls] in pyproject.toml
set -eu
cd "$(dirname "$0")/.."
url=$1
java=src/kodec/pipeline/jvm
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
: "${REPOSITORY:=$(sed -n 's/^Repository = "\(.*\)"$/\1/p' pyproject.toml)}"
case $url in
file:*) : "${REPOSITORY:=https://kodec.invalid}" ;; # to try it: not published
*) : "${REPOSITORY:?where is the project? Write Repository under [project.urls] in pyproject.toml}" ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

.venv/bin/python - "$work/sources" <<'END'
# The sources that the jar was built of, and no others: it is refused where these are not those.
import shutil, sys, zipfile
from pathlib import Path
sys.path.insert(0, "src/kodec/pipeline/jvm")
import fresh
if not fresh.is_fresh(Path()):
    sys.exit(f"{fresh.JAR} is not of its sources: make jar")
with zipfile.ZipFile(fresh.JAR) as jar:
    names = {name.removesuffix(".class").partition("$")[0] for name in jar.namelist() if name.endswith(".class")}
for name in sorted(names):
    for root in ("src/kodec/pipeline/jvm", "runtime/java", "generated/java"):
        if (path := Path(root, f"{name}.java")).is_file():
            target = Path(sys.argv[1], f"{name}.java")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
            break
END
cp LICENSE NOTICE "$work/sources/"
jars=$(.venv/bin/python -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent / "jars")')
javadoc -quiet -public -Xdoclint:none -notimestamp -encoding UTF-8 -windowtitle "kodec-spark $version" -d "$work/javadoc" \
    -cp "$jars/*" $(find "$work/sources" -name '*.java')
for part in sources javadoc; do
    (cd "$work/$part" && zip -q -X -r "$work/kodec-spark-$version-$part.jar" .)
done
sed "s/@VERSION@/$version/; s|@REPOSITORY@|$REPOSITORY|" release/pom.xml >"$work/pom.xml"
cp "$java/kodec-spark.jar" "$work/kodec-spark-$version.jar"
mvn -q -B deploy:deploy-file -DrepositoryId=kodec -Durl="$url" -DpomFile="$work/pom.xml" \
    -Dfile="$work/kodec-spark-$version.jar" -Dsources="$work/kodec-spark-$version-sources.jar" \
    -Djavadoc="$work/kodec-spark-$version-javadoc.jar"
echo "org.kodec:kodec-spark:$version is in $url"
