"""Eight versions of what a data analyst's directory looks like, for measuring how much is kept of it.

    history.py DIR        makes DIR/1 ... DIR/8, about 750 MB

Everything follows from one seed. Between two versions happens what happens to such files: a table grows, one cell
of it changes, rows go, it is sorted, a column is added, it is filtered; a workbook and a pickle are saved again;
some rows of an array change; three of four charts stay; a notebook gets a cell; a model is trained again now and
then; a database has some rows updated; a few of many small files are edited.
"""
import json
import os
import pickle
import shutil
import sqlite3
import sys

import matplotlib
import numpy as np
import pandas as pd

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402

VERSIONS = 8
ROWS, CELLS, SMALL, RECORDS = 250_000, 60, 3000, 120_000
random = np.random.default_rng(1)


def first_table():
    return pd.DataFrame({
        "id": np.arange(ROWS), "ts": pd.date_range("2024-01-01", periods=ROWS, freq="min"),
        "name": [f"item{n}" for n in random.integers(1, 5000, ROWS)],
        "price": np.round(random.random(ROWS) * 1000, 2), "qty": random.integers(1, 99, ROWS),
        "note": [f"note {n} lorem ipsum" for n in random.integers(1, 100000, ROWS)]})


def next_table(table, version):
    if version == 2:  # one hundredth more
        more = table.iloc[:ROWS // 100]
        return pd.concat([table, more.assign(id=more["id"] + ROWS)])
    if version == 3:
        table.iloc[ROWS * 2 // 5, 3] = 12345.67
    if version == 4:
        return pd.concat([table.iloc[:ROWS // 5], table.iloc[ROWS // 5 + 1000:]])
    if version == 5:
        return table.sort_values("name", kind="stable")
    if version == 6:
        return table.assign(total=table["price"] * table["qty"])
    if version == 7:
        return table[table["qty"] > 10]
    return table


def save_table(table, to):
    table.to_csv(to + "/data.csv", index=False)
    table.describe().to_csv(to + "/summary.csv")
    table.head(20000).to_excel(to + "/report.xlsx", index=False)
    table.to_pickle(to + "/data.pkl")


def save_array(array, to, version):
    np.save(to + "/array.npy", array)
    np.savez_compressed(to + "/array.npz", a=array[:500])
    for i in range(4):
        figure, axes = plt.subplots(figsize=(8, 5), dpi=120)
        axes.plot(np.cumsum(array[i]))
        axes.set_title(f"chart {i}, {version if i == 0 else 'the first'}")
        figure.savefig(f"{to}/chart{i}.png")
        plt.close(figure)


def save_model(to, version, inputs):
    model = RandomForestClassifier(30, random_state=version // 3)
    model.fit(inputs, (inputs[:, 0] + inputs[:, 1] > 1).astype(int))
    with open(to + "/model.pkl", "wb") as f:
        pickle.dump(model, f)


def save_database(top, version):
    path = f"{top}/{version}/records.sqlite"
    if version > 1:
        shutil.copy(f"{top}/{version - 1}/records.sqlite", path)
    database = sqlite3.connect(path)
    if version == 1:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b REAL)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", (
            (i, f"name {i} {i * 7919 % 100003}", i * 1.1) for i in range(RECORDS)))
    else:
        database.executemany("UPDATE t SET b = ? WHERE id = ?", [
            (float(version), int(i)) for i in random.integers(0, RECORDS, 300)])
    database.commit()
    database.close()


def make(top):
    table, array, inputs = first_table(), random.standard_normal((2000, 2500)), random.random((3000, 20))
    small = {f"docs/{i % 50:02d}/note{i}.json": {"id": i, "text": " ".join(map(str, random.integers(0, 10**6, 80)))}
             for i in range(SMALL)}
    cells = [{"cell_type": "code", "source": [f"x{i} = compute({i})\n"] * 5,
              "outputs": [{"data": {"text/plain": [f"out {random.random(200).tolist()}"]}}]} for i in range(CELLS)]
    for version in range(1, VERSIONS + 1):
        to = f"{top}/{version}"
        os.makedirs(to)
        table = next_table(table, version)
        if version > 1:
            array[random.integers(0, len(array), len(array) // 100)] += 1
        save_table(table, to)
        save_array(array, to, version)
        cells.insert(int(random.integers(len(cells))),
                     {"cell_type": "code", "source": [f"new{version}\n"], "outputs": []})
        with open(to + "/analysis.ipynb", "w") as f:
            json.dump({"cells": cells}, f, indent=1)
        save_model(to, version, inputs)
        save_database(top, version)
        for path, note in small.items():
            if version > 1 and random.random() < 0.03:
                note["text"] += f" edited {version}"
            os.makedirs(os.path.dirname(f"{to}/{path}"), exist_ok=True)
            with open(f"{to}/{path}", "w") as f:
                json.dump(note, f)


if __name__ == "__main__":
    make(sys.argv[1])
